"""The landscape is the potential, and the frequencies are marked on it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

pytest.importorskip("matplotlib", reason="bochner.plots needs matplotlib")

from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from bochner.plots import potential_landscape
from tests.plots.pictures import labelled_rows, naive_potential, saves


@pytest.fixture
def rows(rng):
    return labelled_rows(rng)


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


X, Y = np.eye(2), [0, 1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: potential_landscape(np.eye(3), [1, 1, 1]), r"X must have shape \(n, 2\).*\(3, 3"),
        (lambda: potential_landscape([[np.nan, 1.0]], [1]), "X must be finite"),
        (lambda: potential_landscape(X, [1, 1, 1]), r"coefficients .* \(2,\) or .* shape \(3,\)"),
        (lambda: potential_landscape(X, Y, np.ones((3, 1))), r"frequencies .* \(2, N\).*\(3, 1\)"),
        (lambda: potential_landscape(X, Y, None, [1, 2]), r"newest must .* got shape \(2,\)"),
        (lambda: potential_landscape(X, Y, extent=0), "extent must be .* greater than 0, got 0"),
        (lambda: potential_landscape(X, Y, resolution=1), "resolution must .* got 1"),
    ],
)
def test_invalid_parameters_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
