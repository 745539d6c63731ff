"""Weights are drawn as sizes, scores as shades, without a display or a warning."""

import os
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose

pytest.importorskip("matplotlib", reason="bochner.plots needs matplotlib")


from bochner.plots import decision_regions, dual_weights
from tests.plots.pictures import labelled_rows, saves


@pytest.fixture
def rows(rng):
    return labelled_rows(rng)


def offsets(axes):
    return [np.asarray(collection.get_offsets()) for collection in axes.collections]


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
        (lambda: dual_weights(np.ones((2, 1)), Y, [1, 1]), r"X must have shape .* got .*\(2, 1\)"),
        (lambda: decision_regions(np.ones(2), Y, len), r"X must have shape .* got shape \(2,\)"),
        (lambda: dual_weights(X, [0, 1, 1], [1, 1]), r"y must have one label .* got \(3,\)"),
        (lambda: dual_weights(X, [1, 1], [1, 1]), "y must have two classes"),
        (lambda: dual_weights(X, Y, [1]), r"weights must .* shape \(2,\), got shape \(1,\)"),
        (lambda: dual_weights(X, Y, [1, -1]), "weights must be finite and zero or more, got"),
        (lambda: decision_regions(X, Y, lambda p: p), r"score\(points\) must have one value per"),
        (lambda: decision_regions(X, Y, len, extent=(1, 0, 0, 1)), "extent must be .left, right"),
    ],
)
def test_invalid_parameters_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
