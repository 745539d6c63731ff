import numpy as np
import pytest

from bochner.engine import plain
from bochner.fourier import selection
from bochner.fourier.selection import chance_gain, few_columns, pair_gains, select_frequencies
from tests.places import PLACES


def pair_of(X, w):
    return np.column_stack([np.cos(X @ w), np.sin(X @ w)])


def ridge_gain(X, Y, chosen, w, penalty):
    """By how much the objective falls when the pair of `w` joins a fit on the `chosen` ones."""
    spanned = np.column_stack([np.ones(len(X)), *(pair_of(X, v) for v in chosen)])
    Q = np.linalg.svd(spanned, full_matrices=False)
    Q = Q[0][:, Q[1] > 1e-8]
    residual, pair = (M - Q @ (Q.T @ M) for M in (Y, pair_of(X, w)))
    stacked = np.vstack([pair, np.sqrt(penalty) * np.eye(2)])
    padded = np.vstack([residual, np.zeros((2, Y.shape[1]))])
    solution = np.linalg.lstsq(stacked, padded, rcond=None)[0]
    return (residual**2).sum() - ((padded - stacked @ solution) ** 2).sum()


def greedy(X, Y, W, size, penalty):
    """Every candidate refitted in every step."""
    index, gains = [], []
    for _ in range(size):
        found = [ridge_gain(X, Y, W.T[index], w, penalty) for w in W.T]
        found = [-1.0 if m in index else gain for m, gain in enumerate(found)]
        index.append(int(np.argmax(found)))
        gains.append(max(found))
    return index, np.array(gains)


@pytest.fixture
def problem(rng):
    X, W = rng.normal(size=(80, 3)), rng.normal(size=(3, 40))
    Y = np.column_stack([np.sin(2 * X[:, 0]), X[:, 1] * X[:, 2]]) + 0.1 * rng.normal(size=(80, 2))
    return X, Y, W


@pytest.mark.parametrize("n_chosen", [0, 1, 5])
@pytest.mark.parametrize("ridge", [0.0, 0.01, 0.3])
def test_the_gain_is_that_of_fits_with_and_without_the_pair(n_chosen, ridge, problem):
    X, Y, W = problem
    n, chosen = len(X), W.T[:n_chosen]
    spanned = np.column_stack([np.ones(n), *(pair_of(X, v) for v in chosen)])
    Q = np.linalg.qr(spanned)[0]
    sums = plain.fourier_sums(X, W, np.column_stack([Y - Q @ (Q.T @ Y), Q]))
    S, F = sums[:, :2], sums[:, 2:]
    doubled = plain.fourier_sums(X, 2 * W, np.ones((n, 1)))[:, 0]
    a = (n + doubled.real) / 2 - (F.real**2).sum(axis=1)
    c = (n - doubled.real) / 2 - (F.imag**2).sum(axis=1)
    b = doubled.imag / 2 - (F.real * F.imag).sum(axis=1)
    found = pair_gains(a, b, c, S, ridge * n)
    expected = [ridge_gain(X, Y, chosen, w, ridge * n) for w in W.T]
    kept = slice(n_chosen if ridge == 0 else 0, None)  # of those chosen nothing is left
    np.testing.assert_allclose(found[kept], expected[kept], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("looked_at", [1, 8])
def test_one_frequency_per_pass_is_the_greedy_choice(looked_at, problem, monkeypatch):
    """With one candidate looked at, the sums of all decide; with more, the products."""
    monkeypatch.setattr(selection, "_LOOKED_AT", looked_at)
    X, Y, W = problem
    index, gains = greedy(X, Y, W, 6, 0.01 * len(X))
    found = select_frequencies(X, Y, W, 6, passes=6, kept=1.0)
    np.testing.assert_array_equal(found.index, index)
    total = ((Y - Y.mean(axis=0)) ** 2).sum()
    np.testing.assert_allclose(found.gains, gains / total, rtol=1e-9)


@pytest.mark.parametrize("kind", ["numbers", "classes"])
def test_few_passes_gain_what_the_greedy_choice_gains(kind):
    rng = np.random.default_rng(0)
    X, W = rng.normal(size=(600, 5)), rng.normal(size=(5, 1000))
    Y = np.sin(2 * X[:, :1]) + X[:, 1:2] * X[:, 2:3] + 0.3 * rng.normal(size=(600, 1))
    if kind == "classes":
        Y = np.eye(4)[np.digitize(Y[:, 0], [-1, 0, 1])]
    fast = select_frequencies(X, Y, W, 50).gains.sum()
    exact = select_frequencies(X, Y, W, 50, passes=50, kept=1.0).gains.sum()
    assert fast == pytest.approx(exact, rel=0.02)


@pytest.mark.parametrize("place", PLACES)
def test_places_agree(place, problem):
    X, Y, W = problem
    expected = select_frequencies(X, Y, W, 12)
    found = select_frequencies(PLACES[place](X), Y, W, 12)
    np.testing.assert_array_equal(found.index, expected.index)
    np.testing.assert_allclose(found.gains, expected.gains, rtol=1e-9)
    assert found.n_beyond_chance == expected.n_beyond_chance


def test_single_precision_memory_maps_and_blocks(problem, monkeypatch, tmp_path):
    X, Y, W = problem
    expected = select_frequencies(X, Y, W, 12)
    rows = np.memmap(tmp_path / "rows", np.float32, "w+", shape=X.shape)
    rows[:] = X
    monkeypatch.setattr(selection, "_BLOCK", 64)  # a few rows at a time
    found = select_frequencies(rows, Y, W.astype(np.float32), 12)
    np.testing.assert_array_equal(found.index, expected.index)
    np.testing.assert_allclose(found.gains, expected.gains, rtol=1e-3)


def test_weights_are_counts(problem, rng):
    X, Y, W = problem
    counts = rng.integers(1, 4, size=len(X))
    expected = select_frequencies(np.repeat(X, counts, axis=0), np.repeat(Y, counts, axis=0), W, 9)
    found = select_frequencies(X, Y, W, 9, weights=counts.astype(float))
    np.testing.assert_array_equal(found.index, expected.index)
    np.testing.assert_allclose(found.gains, expected.gains, rtol=1e-9)


def test_identical_candidates_gain_once(problem):
    X, Y, W = problem
    found = select_frequencies(X, Y, np.repeat(W[:, :4], 10, axis=1), 20)
    assert len(set(found.index)) == 20
    assert len(set(found.index[:4] // 10)) == 4  # one of each first
    np.testing.assert_allclose(found.gains[4:], 0, atol=1e-9)


def test_constant_columns_and_frequencies_of_zero(problem):
    X, Y, W = problem
    constant = np.column_stack([X, np.full(len(X), 3.0)])
    expected = select_frequencies(X, Y, W, 9)
    found = select_frequencies(constant, Y, np.vstack([W, np.linspace(-1, 1, 40)]), 9)
    np.testing.assert_array_equal(found.index, expected.index)
    np.testing.assert_allclose(found.gains, expected.gains, rtol=1e-9)  # all pairs turned
    nothing = select_frequencies(np.ones_like(X), Y, W, 9)
    assert len(set(nothing.index)) == 9
    np.testing.assert_allclose(nothing.gains, 0, atol=1e-9)
    assert nothing.n_beyond_chance == 0
    found = select_frequencies(X, np.column_stack([Y, np.ones(len(X))]), W, 9)
    np.testing.assert_array_equal(found.index, expected.index)


def test_more_than_the_rows_can_tell_apart(rng):
    X, W = rng.normal(size=(15, 2)), rng.normal(size=(2, 60))
    found = select_frequencies(X, X[:, :1] ** 2, W, 40)
    assert len(set(found.index)) == 40
    assert np.isfinite(found.gains).all()
    assert found.gains.sum() < 1 + 1e-9


def test_nothing_to_choose(problem):
    assert select_frequencies(*problem, 0).index.size == 0


def test_the_chance_stop():
    """Few of the targets that know nothing of the rows have a gain beyond it, all signals do."""
    beyond = {"noise": 0, "signal": 0}
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X, W = rng.normal(size=(300, 4)), rng.normal(size=(4, 200))
        noise = np.eye(3)[rng.integers(3, size=300)]
        beyond["noise"] += select_frequencies(X, noise, W, 3).n_beyond_chance > 0
        signal = noise + 2 * np.sin(X[:, :1])
        beyond["signal"] += select_frequencies(X, signal, W, 3).n_beyond_chance > 0
    assert beyond["noise"] <= 4  # 2 expected
    assert beyond["signal"] == 40


def test_chance_is_the_tail_of_the_luckiest():
    """Against sums of squares of normal variables, with the covariance of the residual."""
    rng = np.random.default_rng(0)
    residual = np.diag([3.0, 1.0, 0.5])
    draws = (rng.normal(size=(400, 100, 2, 3)) ** 2 @ np.diag(residual)).sum(axis=2).max(axis=1)
    level = chance_gain(residual, 100, 1.0)
    assert (draws > level).mean() <= 0.05
    assert level < 2 * np.quantile(draws, 0.95)


def test_mixtures_of_many_columns_gain_the_same(rng):
    X, W = rng.normal(size=(500, 2)), rng.normal(size=(2, 100))
    Y = np.eye(300)[np.argsort(np.argsort(X[:, 0])) * 3 // 5]  # classes along a direction
    np.testing.assert_array_equal(few_columns(Y[:, :64], 0), Y[:, :64])
    assert few_columns(Y, 0).shape == (500, 64)
    all_, few = (select_frequencies(X, T, W, 10) for T in (Y, few_columns(Y, 0)))
    chosen = [np.column_stack([np.ones(500), pair_of(X, W[:, s.index])]) for s in (all_, few)]
    errors = [((Y - A @ np.linalg.lstsq(A, Y)[0]) ** 2).sum() for A in chosen]
    assert errors[1] == pytest.approx(errors[0], rel=0.02)


def test_every_pass_is_reported(problem):
    seen = []
    select_frequencies(*problem, 12, after_pass=lambda: seen.append(1))
    assert len(seen) == 10


@pytest.mark.parametrize("weighted", [False, True])
def test_float32_rows_choose_what_float64_rows_do(weighted):
    rng = np.random.default_rng(0)
    X, W = rng.normal(size=(3000, 4)), rng.normal(size=(4, 60))
    targets = np.sin(X @ W[:, :3]) + 0.3 * rng.normal(size=(3000, 3))
    weights = rng.integers(1, 4, 3000).astype(float) if weighted else None
    double = select_frequencies(X, targets, W, 10, weights=weights)
    rows = X.astype(np.float32), targets, W.astype(np.float32)
    single = select_frequencies(*rows, 10, weights=weights)
    np.testing.assert_array_equal(single.index, double.index)
    np.testing.assert_allclose(single.gains, double.gains, rtol=1e-4)
