"""Maps side by side: each gets what is known of it."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.preprocessing import FunctionTransformer

from bochner import FourierFeatures, MercerFeatures
from bochner.guarantees import (
    ConditionsNotMet,
    compare_approximations,
    mean_squared_kernel_error,
    mean_squared_kernel_error_bound,
    relative_gram_bound,
    residual_bound,
    residuals,
)
from bochner.kernels import Gaussian
from tests.guarantees.nested import nested


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
    with pytest.raises(ConditionsNotMet, match="do not nest in this kernel"):
        compare_approximations(maps, Gaussian(gamma=0.5), X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("factor", [0.25, 0.95, 1.05, 4.0])
def test_another_gamma_is_noticed(factor, dtype, rng):
    """Residuals cannot tell: k(x, x) is 1 for every gamma."""
    X = rng.normal(size=(300, 3)).astype(dtype)
    for each in (
        Nystroem(n_components=30, gamma=0.5, random_state=0),
        MercerFeatures(n_components=56, gamma=0.5),
    ):
        maps = {"map": each.fit(X)}
        compare_approximations(maps, Gaussian(gamma=0.5), X)
        with pytest.raises(ConditionsNotMet, match="not the one of the features"):
            compare_approximations(maps, Gaussian(gamma=0.5 * factor), X)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: compare_approximations({}, Gaussian(gamma=1.0), np.zeros((1, 1))),
            "number of rows must be an integer of at least 2, got 1",
        ),
    ],
)
def test_invalid_parameters_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
