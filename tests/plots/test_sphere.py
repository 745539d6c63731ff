"""Pictures on the sphere hold the function's values and the rows' places."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

pytest.importorskip("matplotlib", reason="bochner.plots needs matplotlib")

from matplotlib import colormaps
from mpl_toolkits.mplot3d import Axes3D

from bochner.plots import checkerboard_on_sphere, harmonic_on_sphere
from tests.plots.pictures import saves


def wave(points):
    return points[:, 0] * points[:, 1] + 0.5 * points[:, 2]


def naive_values(function, count):
    """Cell by cell: rows are latitudes from the south, columns longitudes from -180 degrees."""
    values = np.empty((count, 2 * count))
    for i in range(count):
        for j in range(2 * count):
            latitude = np.pi * ((i + 0.5) / count - 0.5)
            longitude = np.pi * ((j + 0.5) / count - 1)
            point = [
                np.cos(latitude) * np.cos(longitude),
                np.cos(latitude) * np.sin(longitude),
                np.sin(latitude),
            ]
            values[i, j] = function(np.array([point]))[0]
    return values


def test_the_map_is_the_function(tmp_path):
    figure = harmonic_on_sphere(wave, kind="map", resolution=6, titles=["a wave"])
    axes, scale = figure.axes
    (mesh,) = axes.collections
    expected = naive_values(wave, 6)
    assert_allclose(np.reshape(mesh.get_array(), (6, 12)), expected, atol=1e-12)
    assert mesh.get_clim() == pytest.approx((-np.abs(expected).max(), np.abs(expected).max()))
    assert (axes.get_title(), scale.get_ylabel()) == ("a wave", "value")
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("longitude", "latitude")
    saves(figure, tmp_path / "map.png")


@pytest.fixture
def calls(monkeypatch):
    """What is asked of three-dimensional axes: the artists keep it in private places."""
    recorded = []

    def spy(method):
        original = getattr(Axes3D, method)

        def record(self, *args, **options):
            recorded.append((method, args, options))
            return original(self, *args, **options)

        monkeypatch.setattr(Axes3D, method, record)

    spy("plot_surface")
    spy("scatter")
    return recorded


def test_the_ball_is_coloured_by_the_function(calls, tmp_path):
    figure = harmonic_on_sphere(wave, resolution=6)
    ((_, corners, options),) = calls
    expected = naive_values(wave, 6)
    share = (expected / np.abs(expected).max() + 1) / 2
    assert_allclose(options["facecolors"], colormaps["RdBu_r"](share), atol=1e-12)
    # Every cell is around the point whose value it shows.
    corners = np.stack(corners)
    assert_allclose(np.linalg.norm(corners, axis=0), 1)
    middles = corners[:, 1:, 1:] + corners[:, 1:, :-1] + corners[:, :-1, 1:] + corners[:, :-1, :-1]
    longitudes = np.arctan2(middles[1], middles[0])
    assert_allclose(longitudes, np.broadcast_to(np.pi * ((np.arange(12) + 0.5) / 6 - 1), (6, 12)))
    latitudes = np.arcsin(corners[2])
    between = (latitudes[1:, 1:] + latitudes[:-1, 1:]) / 2
    assert_allclose(between[:, 0], np.pi * ((np.arange(6) + 0.5) / 6 - 0.5), atol=1e-7)
    saves(figure, tmp_path / "ball.png")


@pytest.mark.parametrize("kind", ["sphere", "map"])
def test_several_functions_side_by_side(kind, tmp_path):
    figure = harmonic_on_sphere(
        [wave, lambda p: p[:, 0], lambda p: 0 * p[:, 0]],
        titles=["a", "b", "zero"],
        kind=kind,
        resolution=6,
    )
    assert len(figure.axes) == 6  # each with its scale
    assert [axes.get_title() for axes in figure.axes[::2]] == ["a", "b", "zero"]
    saves(figure, tmp_path / "several.png")


def test_rows_on_the_map(rng, tmp_path):
    X = rng.normal(size=(50, 3))
    y = np.where(X[:, 2] > 0, "north", "south")
    figure = checkerboard_on_sphere(X, y, kind="map")
    for collection, name in zip(figure.axes[0].collections, ["north", "south"], strict=True):
        longitude, latitude = np.asarray(collection.get_offsets()).T
        mine = X[y == name] / np.linalg.norm(X[y == name], axis=1, keepdims=True)
        assert_allclose(np.cos(latitude) * np.cos(longitude), mine[:, 0], atol=1e-12)
        assert_allclose(np.cos(latitude) * np.sin(longitude), mine[:, 1], atol=1e-12)
        assert_allclose(np.sin(latitude), mine[:, 2], atol=1e-12)
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["class north", "class south"]
    saves(figure, tmp_path / "rows.png")


def test_only_the_near_side_of_the_ball_is_drawn(rng, calls, tmp_path):
    X = rng.normal(size=(200, 3))
    y = rng.choice([0, 1], 200)
    figure = checkerboard_on_sphere(X, y, view=(90.0, 0.0))  # from above the north pole
    drawn = [np.column_stack(args) for method, args, _ in calls if method == "scatter"]
    assert len(drawn) == 2
    for points, label in zip(drawn, (0, 1), strict=True):
        mine = X[(y == label) & (X[:, 2] >= 0)]
        assert_allclose(points, mine / np.linalg.norm(mine, axis=1, keepdims=True))
    saves(figure, tmp_path / "near.png")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: checkerboard_on_sphere(np.eye(2), [0, 1]), r"X must have shape \(n, 3\).*\(2, 2"),
        (lambda: checkerboard_on_sphere(np.zeros((2, 3)), [0, 1]), "X must have no row of zeros"),
        (lambda: checkerboard_on_sphere(np.eye(3), [0, 1, 2]), "y must have two classes"),
        (lambda: checkerboard_on_sphere(np.eye(3), [0, 1, 1], kind="flat"), "kind must be one of"),
        (lambda: harmonic_on_sphere(wave, kind="3d"), r"kind must be one of \['map', 'sphere'\]"),
        (lambda: harmonic_on_sphere(wave, titles=["a", "b"]), "functions and titles .* 1 and 2"),
        (lambda: harmonic_on_sphere([]), "functions and titles .* got 0 and 0"),
        (
            lambda: harmonic_on_sphere(lambda p: p),
            r"function\(points\) must have one value per po",
        ),
        (lambda: harmonic_on_sphere(lambda p: p[:, 0] * np.nan), r"function\(points\) must be fi"),
        (lambda: harmonic_on_sphere(wave, resolution=0), "resolution must be .* got 0"),
    ],
)
def test_invalid_parameters_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
