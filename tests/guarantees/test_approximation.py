"""Certificates of features: exact where they say so, and how often the others fail."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.preprocessing import FunctionTransformer

from bochner import FourierFeatures
from bochner.guarantees import approximation as module
from bochner.guarantees import (
    chernoff_bound,
    compare_approximations,
    empirical_bernstein_bound,
    fourier_uniform_bound,
    gram_bound,
    hoeffding_bound,
    mean_squared_kernel_error,
    mean_squared_kernel_error_bound,
    pointwise_bound,
    predicted_residual,
    relative_gram_bound,
    residual_bound,
    residuals,
)
from bochner.kernels import Gaussian

BOUNDS = (hoeffding_bound, chernoff_bound, empirical_bernstein_bound, residual_bound)


def allowed(repetitions, delta):
    return delta + 3 * np.sqrt(delta * (1 - delta) / repetitions)


def nested(X, landmarks, gamma):
    """Nystroem's features by the formula, with small eigenvalues left out."""
    kernel = Gaussian(gamma=gamma)
    values, vectors = np.linalg.eigh(kernel(landmarks))
    large = values > 1e-6 * values[-1]  # known to about ten digits
    return kernel(X, landmarks) @ (vectors[:, large] / np.sqrt(values[large]))


# --------------------------------------------------------------------------- certificates


def test_residuals_are_the_schur_complement(rng):
    X, Z = rng.normal(size=(20, 3)), rng.normal(size=(6, 3))
    kernel = Gaussian(gamma=0.3)
    complement = kernel(X) - kernel(X, Z) @ np.linalg.solve(kernel(Z), kernel(Z, X))
    r = residuals(nested(X, Z, 0.3))
    assert_allclose(r, complement.diagonal(), atol=1e-12)
    ours = residuals(Nystroem(n_components=6, gamma=0.3).fit(Z).transform(X))
    assert_allclose(ours, complement.diagonal(), atol=1e-9)


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 2**31),
    d=st.integers(1, 6),
    count=st.integers(1, 12),
    gamma=st.floats(1e-3, 1e2),
    repeat=st.booleans(),
)
def test_certificates_are_never_violated(seed, d, count, gamma, repeat):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(count, d))
    if repeat:
        Z = np.vstack([Z, Z])
    X = np.vstack([rng.normal(size=(15, d)), 10 * rng.normal(size=(3, d)), Z[:2]])
    features, K = nested(X, Z, gamma), Gaussian(gamma=gamma)(X)
    r = residuals(features)
    remainder = K - features @ features.T
    # Residuals are known to the relative precision of the smallest eigenvalue divided by, and it
    # is there that rounding enters: a residual of zero stands for anything up to this.
    rounding = 1e-9
    known = r + rounding
    assert (np.abs(remainder) <= pointwise_bound(known[:, None], known)).all()
    norm = np.linalg.norm(remainder, 2)
    assert norm <= gram_bound(r) + rounding
    relative = norm / np.linalg.norm(K, 2)
    assert relative <= relative_gram_bound(features, r) + rounding


def test_gram_bound_is_the_trace_norm(rng):
    X, Z = rng.normal(size=(30, 2)), rng.normal(size=(4, 2))
    features = nested(X, Z, 1.0)
    remainder = Gaussian(gamma=1.0)(X) - features @ features.T
    assert gram_bound(residuals(features)) == pytest.approx(np.linalg.norm(remainder, "nuc"))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_relative_gram_bound_needs_no_kernel(dtype, rng):
    features = (0.1 * rng.normal(size=(40, 7))).astype(dtype)
    r = residuals(features)
    by_hand = r.sum() / np.linalg.norm(features.astype(float), 2) ** 2
    assert relative_gram_bound(features, r) == pytest.approx(min(1, by_hand), rel=1e-2)
    # From above: power iteration must not overestimate the denominator.
    assert relative_gram_bound(features, r / 1000) >= by_hand / 1000 * (1 - 1e-5)
    assert relative_gram_bound(features, np.zeros(40)) == 0
    assert relative_gram_bound(np.zeros((3, 2)), np.ones(3)) == 1


def test_mercer_features_nest(rng):
    from bochner import MercerFeatures

    X = rng.normal(size=(400, 3)) * [1, 2, 0.5]
    mercer = MercerFeatures(n_components=56, gamma=0.1).fit(X[:200])
    features = mercer.transform(X[200:])
    r = residuals(features)
    assert_allclose(r, mercer.residual(X[200:]), atol=1e-12)
    remainder = Gaussian(gamma=0.1)(X[200:]) - features @ features.T
    assert (np.abs(remainder) <= pointwise_bound(r[:, None], r) + 1e-12).all()
    assert np.linalg.eigvalsh(remainder)[0] > -1e-12
    # The rows have the density that is assumed: the prediction is right.
    error = r.std() / np.sqrt(len(r))
    assert abs(r.mean() - predicted_residual(mercer.eigenvalues_)) < 5 * error


def test_rounding_is_forgiven_and_more_is_not():
    assert residuals(np.array([[1 + 1e-8]])) == 0
    assert residuals(np.array([[1 + 1e-6]], dtype=np.float32)) == 0
    assert residuals([[2]], diagonal=[4]) == 0
    with pytest.raises(ValueError, match=r"row 1 have the squared length 1\.21, .* do not nest"):
        residuals([[0.5], [1.1]])
    with pytest.raises(ValueError, match="do not nest"):
        residuals([[np.nan]])


def test_prediction_is_the_tail():
    assert predicted_residual([0.5, 0.25]) == 0.25
    assert predicted_residual([1.0, 1e-12]) == 0
    assert predicted_residual([0.5], total=2.0) == 1.5


# --------------------------------------------------------------------------- held-out rows


def test_bounds_by_hand():
    v = [0.0, 0.2, 0.4, 0.6]
    assert hoeffding_bound(v, 0.5) == pytest.approx(0.3 + np.sqrt(np.log(2) / 8))
    variance, logarithm = 0.2 / 3, np.log(20)
    by_hand = 3.0 + np.sqrt(200 * variance * logarithm / 4) + 70 * logarithm / 9
    assert empirical_bernstein_bound(10 * np.array(v), 0.1, limit=10) == min(10, by_hand)
    many = np.tile(v, 500)
    by_hand = 0.3 + np.sqrt(2 * many.var(ddof=1) * logarithm / 2000) + 7 * logarithm / (3 * 1999)
    assert empirical_bernstein_bound(many, 0.1) == pytest.approx(by_hand)
    # No event in m trials: (1 - p)^m = delta.
    assert chernoff_bound(np.zeros(50), 0.05) == pytest.approx(1 - 0.05 ** (1 / 50))
    assert residual_bound([0.3], 0.1) == chernoff_bound([0.3], 0.05)
    expected = min(chernoff_bound(many, 0.05), empirical_bernstein_bound(many, 0.05))
    assert residual_bound(many, 0.1) == expected


@settings(deadline=None, max_examples=40)
@given(
    values=st.lists(st.floats(0, 1), min_size=2, max_size=60),
    delta=st.floats(1e-6, 0.999),
    limit=st.floats(1e-3, 1e3),
)
def test_bounds_are_ordered_and_scale(values, delta, limit):
    v = np.array(values)
    for bound in BOUNDS:
        value = bound(v, delta)
        assert v.mean() - 1e-12 <= value <= 1
        assert bound(v, delta / 2) >= value - 1e-12
        assert bound(limit * v, delta, limit=limit) == pytest.approx(limit * value, rel=1e-6)
    assert chernoff_bound(v, delta) <= hoeffding_bound(v, delta) + 1e-12


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("shape", [(0.05, 2.0), (1.0, 1.0), (20.0, 300.0)])
def test_coverage(bound, shape, rng):
    m, delta, repetitions = 60, 0.2, 200
    truth = shape[0] / sum(shape)
    draws = rng.beta(*shape, size=(repetitions, m))
    failures = np.mean([bound(v, delta) < truth for v in draws])
    assert failures <= allowed(repetitions, delta)


def test_residual_bound_covers_features_of_unseen_rows(rng):
    Z, gamma, delta, repetitions = rng.normal(size=(15, 2)), 0.5, 0.1, 150
    truth = residuals(nested(rng.normal(size=(200_000, 2)), Z, gamma)).mean()
    failures = 0
    for _ in range(repetitions):
        r = residuals(nested(rng.normal(size=(100, 2)), Z, gamma))
        failures += residual_bound(r, delta) < truth
    assert failures / repetitions <= allowed(repetitions, delta)


# --------------------------------------------------------------------------- any features


@pytest.mark.parametrize("block", [4, 7, 1024])
def test_mean_squared_error_is_that_of_all_pairs(block, rng, monkeypatch):
    monkeypatch.setattr(module, "_BLOCK", block)
    X, kernel = rng.normal(size=(15, 3)), Gaussian(gamma=0.4)
    features = rng.normal(size=(15, 5))
    squares = (kernel(X) - features @ features.T) ** 2
    by_hand = np.mean([squares[i, j] for i in range(15) for j in range(15) if i != j])
    assert mean_squared_kernel_error(features, kernel, X) == pytest.approx(by_hand)
    assert mean_squared_kernel_error(features, kernel, sparse.csr_matrix(X)) == pytest.approx(
        by_hand
    )


def test_mean_squared_error_is_unbiased_and_covered(rng):
    fourier = FourierFeatures(n_components=20, gamma=0.5, random_state=0).fit(np.zeros((2, 2)))
    kernel, n, delta, repetitions = Gaussian(gamma=0.5), 40, 0.2, 200
    pairs = rng.normal(size=(2, 400_000, 2))
    exact = np.exp(-0.5 * ((pairs[0] - pairs[1]) ** 2).sum(axis=1))
    waves = np.cos((pairs[0] - pairs[1]) @ fourier.frequencies_).mean(axis=1)
    truth = ((exact - waves) ** 2).mean()
    found = []
    for _ in range(repetitions):
        X = rng.normal(size=(n, 2))
        found.append(mean_squared_kernel_error(fourier.transform(X), kernel, X))
    error = np.std(found) / np.sqrt(repetitions)
    assert abs(np.mean(found) - truth) < 4 * error
    bounds = np.array([mean_squared_kernel_error_bound(value, n, delta) for value in found])
    assert np.mean(bounds < truth) <= allowed(repetitions, delta)


def test_pairs_are_worth_half_the_rows():
    assert mean_squared_kernel_error_bound(0.0, 101, 0.05, limit=1.0) == pytest.approx(
        1 - 0.05 ** (1 / 50)
    )
    wide = mean_squared_kernel_error_bound(0.4, 101, 0.05, limit=2.0)
    assert wide == pytest.approx(4 * mean_squared_kernel_error_bound(0.1, 101, 0.05, limit=1.0))


def test_mean_squared_error_of_nested_features_is_at_most_the_residual_squared(rng):
    X, Z = rng.normal(size=(2000, 2)), rng.normal(size=(8, 2))
    features = nested(X, Z, 0.5)
    r = residuals(features)
    estimate = mean_squared_kernel_error(features, Gaussian(gamma=0.5), X)
    assert estimate <= (r.mean() + 4 * r.std() / np.sqrt(len(r))) ** 2


@settings(deadline=None, max_examples=40)
@given(
    N=st.integers(1, 10**6),
    d=st.integers(1, 100),
    diameter=st.floats(1e-2, 1e2),
    spread=st.floats(1e-2, 1e2),
    delta=st.floats(1e-6, 0.9),
)
def test_uniform_bound_is_monotone(N, d, diameter, spread, delta):
    bound = fourier_uniform_bound(N, d, diameter, spread, delta)
    assert 0 < bound <= 2
    slack = 1e-6
    assert fourier_uniform_bound(2 * N, d, diameter, spread, delta) <= bound + slack
    assert fourier_uniform_bound(N, d + 1, diameter, spread, delta) >= bound - slack
    assert fourier_uniform_bound(N, d, 2 * diameter, spread, delta) >= bound - 0.01
    assert fourier_uniform_bound(N, d, diameter, spread, delta / 2) >= bound - slack


def test_uniform_bound_near_the_published_form():
    """Sutherland and Schneider's closed form, with a cover of (4 l / s)^d balls and slope 4."""
    N, d, diameter, spread, delta = 5000, 3, 4.0, 2.0, 0.05
    eps = fourier_uniform_bound(N, d, diameter, spread, delta)
    constant = (d / 2) ** (-d / (d + 2)) + (d / 2) ** (2 / (d + 2))
    constant *= 2 ** ((8 * d + 2) / (d + 2))
    closed = constant * (spread * diameter / eps) ** (2 * d / (d + 2))
    closed *= np.exp(-2 * N * eps**2 / (8 * (d + 2)))
    assert delta <= closed <= 30 * delta


def test_uniform_bound_holds(rng):
    N, d, delta, repetitions = 60, 1, 0.2, 300
    gaps = np.linspace(0, 2, 200)
    failures = 0
    bound = fourier_uniform_bound(N, d, 2.0, np.sqrt(2 * 0.5), delta)
    assert bound < 1.5
    for _ in range(repetitions):
        waves = np.cos(np.outer(gaps, rng.normal(size=N))).mean(axis=1)
        failures += np.abs(waves - np.exp(-0.5 * gaps**2)).max() > bound
    assert failures / repetitions <= allowed(repetitions, delta)


# --------------------------------------------------------------------------- side by side


@pytest.fixture(scope="module")
def comparison():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1300, 3))
    train, held = X[:300], X[300:]
    maps = {
        "Nystroem": Nystroem(n_components=60, gamma=0.1, random_state=0),
        "paired": FourierFeatures(n_components=60, gamma=0.1, random_state=0),
        "single": FourierFeatures(n_components=60, gamma=0.1, paired=False, random_state=0),
        "RBFSampler": RBFSampler(n_components=60, gamma=0.1, random_state=0),
        "own": FunctionTransformer(),
    }
    fitted = {name: each.fit(train) for name, each in maps.items()}
    return compare_approximations(fitted, Gaussian(gamma=0.1), held, delta=0.1), fitted, held


def test_what_each_map_gets(comparison):
    found, maps, X = comparison
    rows = {row.name: row for row in found.rows}
    assert list(rows) == list(maps)
    assert (found.n, found.delta) == (1000, 0.1)
    kernel = Gaussian(gamma=0.1)
    for name, limit in (("paired", 2), ("single", 3), ("RBFSampler", 3)):
        features = maps[name].transform(X)
        error = mean_squared_kernel_error(features, kernel, X)
        assert rows[name].squared_error == error
        assert rows[name].squared_error_bound == mean_squared_kernel_error_bound(
            error, 1000, 0.1, limit=limit
        )
        assert rows[name].residual_bound is rows[name].mean_residual is None
    assert rows["own"].squared_error_bound is None
    features = maps["Nystroem"].transform(X)
    r = residuals(features)
    nystroem = rows["Nystroem"]
    assert nystroem.mean_residual == pytest.approx(r.mean())
    assert nystroem.residual_bound == pytest.approx(residual_bound(r, 0.1))
    assert nystroem.relative_gram_bound == pytest.approx(relative_gram_bound(features, r))
    assert nystroem.squared_error <= nystroem.residual_bound**2 <= nystroem.squared_error_bound
    assert nystroem.squared_error < rows["paired"].squared_error


def test_the_table(comparison):
    lines = str(comparison[0]).splitlines()
    assert lines[0].split()[:3] == ["map", "columns", "error"]
    assert len(lines) == 6
    assert lines[1].startswith("Nystroem ")
    assert lines[2].split()[-3:] == ["-", "-", "-"]
    assert lines[5].split()[:2] == ["own", "3"]


def test_maps_with_residuals_nest_unless_they_normalise(rng):
    X = rng.normal(size=(30, 2))
    features = nested(X, X[:5], 0.5)
    parts = {"transform": lambda X: features, "residual": lambda X: residuals(features)}
    maps = {
        "nests": SimpleNamespace(**parts),
        "normalises": SimpleNamespace(**parts, normalize=True),
    }
    first, second = compare_approximations(maps, Gaussian(gamma=0.5), X).rows
    assert first.residual_bound is not None
    assert second.residual_bound is None


def test_another_kernel_is_noticed(rng):
    X = rng.normal(size=(200, 2))
    maps = {"Nystroem": Nystroem(n_components=50, kernel="polynomial", gamma=1.0).fit(X)}
    with pytest.raises(ValueError, match="do not nest in this kernel"):
        compare_approximations(maps, Gaussian(gamma=0.5), X)


# --------------------------------------------------------------------------- bad input

PAIR = np.zeros((2, 1))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: residuals([0.5]), r"features must have shape \(n, D\), got \(1,\)"),
        (lambda: residuals([[0.5]], -1), "diagonal must be zero or more, got"),
        (lambda: pointwise_bound(-0.1, 0.1), "r_x must be residuals, zero or more, got"),
        (lambda: pointwise_bound(0.1, np.nan), "r_y must be residuals"),
        (lambda: gram_bound([0.1, -0.1]), "r must be residuals"),
        (lambda: relative_gram_bound([0.1], [0.1]), r"features must have shape \(n, D\)"),
        (lambda: predicted_residual([0.7, 0.7]), "sum of at most 1, got .* 1.4"),
        (lambda: predicted_residual([-0.1]), "eigenvalues must be zero or more"),
        (lambda: predicted_residual([0.1], total=0), "total must be .* greater than 0, got 0"),
        (lambda: hoeffding_bound([], 0.1), r"values must have shape \(m,\) .* got \(0,\)"),
        (lambda: hoeffding_bound([2.0], 0.1), r"values must lie in \[0, 1\], got"),
        (lambda: hoeffding_bound([0.1], 0.0), "delta must be .* got 0.0"),
        (lambda: hoeffding_bound([0.1], 0.1, limit=-1), "limit must be .* got -1"),
        (lambda: empirical_bernstein_bound([0.1], 0.1), "number of values must be .* least 2"),
        (lambda: residual_bound([0.1], 1.0), "delta must be .* got 1.0"),
        (lambda: mean_squared_kernel_error_bound(5.0, 10), r"estimate must lie in .*\[0, 4\]"),
        (lambda: mean_squared_kernel_error_bound(0.1, 1), "n must be .* at least 2, got 1"),
        (
            lambda: mean_squared_kernel_error(PAIR, Gaussian(gamma=1.0), np.zeros((3, 1))),
            r"each of the 3 rows of X, got \(2, 1\)",
        ),
        (
            lambda: mean_squared_kernel_error(PAIR, lambda X, Y: np.ones(2), PAIR),
            r"kernel\(X, Y\) must give an array of shape \(2, 2\), got \(2,\)",
        ),
        (
            lambda: compare_approximations({}, Gaussian(gamma=1.0), PAIR[:1]),
            "number of rows must be an integer of at least 2, got 1",
        ),
        (lambda: fourier_uniform_bound(0, 1, 1.0, 1.0), "n_frequencies must be .* got 0"),
        (lambda: fourier_uniform_bound(1, 1, 0.0, 1.0), "diameter must be .* got 0"),
        (lambda: fourier_uniform_bound(1, 1, 1.0, np.inf), "spread must be a finite number"),
    ],
)
def test_invalid_parameters_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
