"""The figures hold the numbers they should, and are drawn without a display or a warning."""

import os
import subprocess
import sys
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

pytest.importorskip("matplotlib", reason="bochner.plots needs matplotlib")

from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from bochner.plots import (
    Panel,
    decision_regions,
    dual_weights,
    potential_landscape,
    rounds_figure,
)


@pytest.fixture
def rows(rng):
    X = rng.normal(size=(40, 2))
    return X, np.where(X[:, 0] > 0, 1, -1)


def naive_potential(X, A, axis):
    """One frequency at a time; rows of the image are the second coordinate."""
    A = np.reshape(A, (len(X), -1))
    return np.array(
        [
            [sum(abs(a @ np.exp(1j * (X @ [w1, w2]))) ** 2 for a in A.T) for w1 in axis]
            for w2 in axis
        ]
    ) / sum(np.abs(a).sum() ** 2 for a in A.T)


def offsets(axes):
    return [np.asarray(collection.get_offsets()) for collection in axes.collections]


def saves(figure, path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure.savefig(path, dpi=40)
    assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("columns", [1, 3])
def test_the_landscape_is_the_potential(rng, rows, columns, tmp_path):
    X, _ = rows
    A = rng.normal(size=40) if columns == 1 else rng.normal(size=(40, columns))
    figure = potential_landscape(X, A, extent=4.0, resolution=9)
    assert isinstance(figure, Figure)
    (image,) = figure.axes[0].images
    assert_allclose(image.get_array(), naive_potential(X, A, np.linspace(-4, 4, 9)), rtol=1e-10)
    # The middles of the outer pixels are the ends of the axis, and up is up.
    assert image.get_extent() == [-4.5, 4.5, -4.5, 4.5]
    assert image.origin == "lower"
    assert figure.axes[0].get_xlabel() == "w 1"
    assert len(figure.axes) == 2  # and the scale of greys
    saves(figure, tmp_path / "potential.png")


def test_frequencies_are_marked_with_their_negatives(rows, tmp_path):
    X, y = rows
    W, newest = np.array([[1.0, -2.0], [0.5, 3.0]]), np.array([[-2.0], [3.0]])
    figure = potential_landscape(X, y, W, newest, resolution=9)
    chosen, latest = figure.axes[0].collections
    assert_allclose(np.asarray(chosen.get_offsets()), [[1, 0.5], [-2, 3], [-1, -0.5], [2, -3]])
    assert_allclose(np.asarray(latest.get_offsets()), [[-2, 3], [2, -3]])
    assert_allclose(chosen.get_facecolor(), [to_rgba("magenta")])
    assert_allclose(latest.get_facecolor(), [to_rgba("cyan")])
    names = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert names == ["chosen", "newest"]
    assert figure.axes[0].get_xlim()[1] > 3  # all in sight
    saves(figure, tmp_path / "marked.png")


def test_weights_are_sizes_and_opacities(rows, tmp_path):
    X, y = rows
    weights = np.linspace(0, 5, 40)
    figure = dual_weights(X, y, weights)
    for collection, label in zip(figure.axes[0].collections, (-1, 1), strict=True):
        mine = y == label
        assert_allclose(np.asarray(collection.get_offsets()), X[mine])
        assert_allclose(collection.get_sizes(), 2 + 22 * weights[mine] / 5)
        assert_allclose(collection.get_facecolor()[:, 3], 0.12 + 0.78 * weights[mine] / 5)
    colours = [collection.get_facecolor()[0, :3] for collection in figure.axes[0].collections]
    assert not np.allclose(*colours)
    saves(figure, tmp_path / "weights.png")


def test_weights_that_are_all_zero_are_drawn_faint(rows, tmp_path):
    X, y = rows
    figure = dual_weights(X, y, np.zeros(40))
    assert_allclose(figure.axes[0].collections[0].get_sizes(), 2)
    saves(figure, tmp_path / "zero.png")


def test_regions_are_the_score(rows, tmp_path):
    X, y = rows

    def score(points):
        return points[:, 0] - 2 * points[:, 1] ** 2

    figure = decision_regions(X, y, score, extent=(-3, 3, -2, 2), resolution=13)
    axes = figure.axes[0]
    mesh, *_ = axes.collections
    xs, ys = np.linspace(-3, 3, 13), np.linspace(-2, 2, 13)
    assert_allclose(
        np.reshape(mesh.get_array(), (13, 13)), [[u - 2 * v**2 for u in xs] for v in ys]
    )
    assert (axes.get_xlim(), axes.get_ylim()) == ((-3, 3), (-2, 2))
    # The line at zero passes where the score is zero; dashes at -1 and 1.
    lines = [c for c in axes.collections if hasattr(c, "levels")]
    assert [float(line.levels[0]) for line in lines] == [-1, 0, 1]
    for line in lines:
        vertices = np.vstack([path.vertices for path in line.get_paths()])
        assert_allclose(score(vertices), line.levels[0], atol=0.06)  # straight between grid points
    assert_allclose(offsets(axes)[-2], X[y == -1])
    assert_allclose(offsets(axes)[-1], X[y == 1])
    saves(figure, tmp_path / "regions.png")


@pytest.mark.parametrize("constant", [0.0, 5.0])
def test_a_score_that_never_changes_has_no_lines(rows, constant, tmp_path):
    X, y = rows
    figure = decision_regions(X, y, lambda points: np.full(len(points), constant), resolution=5)
    assert not [c for c in figure.axes[0].collections if hasattr(c, "levels")]
    saves(figure, tmp_path / "constant.png")


def test_rounds_side_by_side(rng, rows, tmp_path):
    X, y = rows
    labels = np.where(y > 0, "up", "down")
    W = rng.normal(size=(2, 6))
    weights = rng.uniform(size=(2, 40))
    panels = [
        Panel("T = 1", weights[0], lambda points: points[:, 0], W[:, :1], W[:, :1]),
        Panel("T = 6", weights[1], lambda points: points[:, 1], W, W[:, 5:]),
    ]
    figure = rounds_figure(X, labels, panels, resolution=9)
    assert len(figure.axes) == 6
    assert [axes.get_title() for axes in figure.axes] == ["T = 1", "T = 6", "", "", "", ""]
    limit = 1.15 * np.abs(W).max()
    for axes, alpha in zip(figure.axes[2:4], weights, strict=True):
        expected = naive_potential(X, alpha * y, np.linspace(-limit, limit, 9))
        assert_allclose(axes.images[0].get_array(), expected, rtol=1e-10)
    assert [axes.get_ylabel() for axes in figure.axes[::2]] == [
        "dual weights\nx 2",
        "Fourier potential\nw 2",
        "score\nx 2",
    ]
    (legend,) = figure.legends
    names = [text.get_text() for text in legend.get_texts()]
    assert names == ["class down", "class up", "chosen", "newest"]
    saves(figure, tmp_path / "rounds.png")


def test_no_display_and_no_global_state_is_needed():
    code = (
        "import sys, numpy as np; from bochner.plots import dual_weights; "
        "assert 'matplotlib' not in sys.modules; "
        "import io; dual_weights(np.eye(2), [0, 1], [1, 2]).savefig(io.BytesIO()); "
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    environment = {name: value for name, value in os.environ.items() if name != "DISPLAY"}
    environment["MPLBACKEND"] = "TkAgg"  # which would need one
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


def test_a_missing_matplotlib_is_named(monkeypatch, rows):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install bochner\[plots\]"):
        dual_weights(*rows, np.ones(40))


X, Y = np.eye(2), [0, 1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: potential_landscape(np.eye(3), [1, 1, 1]), r"X must have shape \(n, 2\).*\(3, 3"),
        (lambda: dual_weights(np.ones((2, 1)), Y, [1, 1]), r"X must have shape .* got .*\(2, 1\)"),
        (lambda: decision_regions(np.ones(2), Y, len), r"X must have shape .* got shape \(2,\)"),
        (lambda: potential_landscape([[np.nan, 1.0]], [1]), "X must be finite"),
        (lambda: potential_landscape(X, [1, 1, 1]), r"coefficients .* \(2,\) or .* shape \(3,\)"),
        (lambda: potential_landscape(X, Y, np.ones((3, 1))), r"frequencies .* \(2, N\).*\(3, 1\)"),
        (lambda: potential_landscape(X, Y, None, [1, 2]), r"newest must .* got shape \(2,\)"),
        (lambda: potential_landscape(X, Y, extent=0), "extent must be .* greater than 0, got 0"),
        (lambda: potential_landscape(X, Y, resolution=1), "resolution must .* got 1"),
        (lambda: dual_weights(X, [0, 1, 1], [1, 1]), r"y must have one label .* got \(3,\)"),
        (lambda: dual_weights(X, [1, 1], [1, 1]), "y must have two classes"),
        (lambda: dual_weights(X, Y, [1]), r"weights must .* shape \(2,\), got shape \(1,\)"),
        (lambda: dual_weights(X, Y, [1, -1]), "weights must be finite and zero or more, got"),
        (lambda: decision_regions(X, Y, lambda p: p), r"score\(points\) must have one value a po"),
        (lambda: decision_regions(X, Y, len, extent=(1, 0, 0, 1)), "extent must be .left, right"),
        (lambda: rounds_figure(X, Y, []), "panels must have at least one"),
    ],
)
def test_invalid_parameters_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
