"""Rounds side by side hold the numbers of every round."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

pytest.importorskip("matplotlib", reason="bochner.plots needs matplotlib")


from bochner.plots import Panel, rounds_figure
from tests.plots.pictures import labelled_rows, naive_potential, saves


@pytest.fixture
def rows(rng):
    return labelled_rows(rng)


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


X, Y = np.eye(2), [0, 1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rounds_figure(X, Y, []), "panels must have at least one"),
    ],
)
def test_invalid_parameters_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
