import numpy as np
import pytest

from bochner import MarginFourierFeatures, engine
from bochner.linear.paired import is_clearly_lower
from bochner.margin.players import columns_of
from bochner.margin.polish import Model, polish
from bochner.targets import Target


def rows_of(kind, n=240, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    f = np.sin(2 * X[:, 0] + X[:, 1])
    y = {"two": f > 0, "three": np.digitize(f, [-0.5, 0.5]), "numbers": f}[kind]
    target = Target.of(y)
    return X, np.asarray(columns_of(target, y), np.float64).reshape(n, -1), target


@pytest.mark.parametrize("kind", ["two", "three", "numbers"])
def test_the_gradient_is_that_of_the_potential(kind):
    """The optimum moves with the frequencies, and the derivative needs none of that."""
    X, Y, _ = rows_of(kind)
    W = np.random.default_rng(1).normal(size=(3, 4))
    margin = kind == "two"
    model = Model(X, Y, W, 30.0, margin=margin)
    _, slope = engine.potential_and_gradient(X, W, model.coefficients)
    for place in ((0, 0), (1, 2), (2, 3)):
        step = np.zeros_like(W)
        step[place] = 1e-4
        ahead, behind = (Model(X, Y, W + s, 30.0, margin=margin).objective for s in (step, -step))
        assert (ahead - behind) / 2e-4 == pytest.approx(-slope[place] / (2 * 4), rel=1e-3)


@pytest.mark.parametrize("kind", ["two", "three", "numbers"])
def test_frequencies_that_are_nearly_right_become_better(kind):
    X, Y, target = rows_of(kind, n=400)
    used, held = np.arange(300), np.arange(300, 400)
    W = np.array([[1.8, 0.3], [0.8, 1.2], [0.2, 0.1]])
    moved = polish(target, X, Y, used, held, W, 25, 100.0)
    before, after = (
        Model(X[used], Y[used], V, 100.0, margin=kind == "two").losses(X[held], Y[held])
        for V in (W, moved)
    )
    assert is_clearly_lower(after, before)
    assert after.mean() < 0.95 * before.mean()


def test_noise_is_left_alone():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), rng.integers(2, size=200)
    target = Target.of(y)
    W = rng.normal(size=(3, 20))
    columns = np.asarray(columns_of(target, y), np.float64).reshape(200, -1)
    assert polish(target, X, columns, np.arange(150), np.arange(150, 200), W, 8, 100.0) is W


@pytest.mark.parametrize("stop", ["auto", None])
def test_the_map_moves_its_frequencies_and_keeps_their_number(stop):
    X, Y, _ = rows_of("two", n=300)
    settings = {"n_components": 8, "dual_update": "corrective", "band": 4.0, "damping": 0.3}
    settings |= {"n_chains": 10, "n_steps": 2, "stop": stop, "random_state": 0}
    plain, polished = (
        MarginFourierFeatures(**settings, polish_steps=steps).fit(X, Y[:, 0] > 0)
        for steps in (0, 15)
    )
    assert polished.frequencies_.shape == plain.frequencies_.shape
    assert polished.n_learned_ == plain.n_learned_
    assert polished.frequencies_.dtype == plain.frequencies_.dtype


def test_too_few_rows_are_left_alone():
    X, Y, _ = rows_of("two", n=40)
    maps = (MarginFourierFeatures(n_components=4, polish_steps=s, random_state=0) for s in (0, 5))
    first, second = (m.fit(X, Y[:, 0] > 0).frequencies_ for m in maps)
    np.testing.assert_array_equal(first, second)
