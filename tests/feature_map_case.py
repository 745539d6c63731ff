"""The test case that every feature map must pass.

A map's own test module subclasses :class:`FeatureMapCase` and says how to make the map; everything
that is true of all maps is tested here once.
"""

from __future__ import annotations

import pickle
from copy import deepcopy
from typing import Any, ClassVar

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError

import bochner
from tests.places import PLACES, on_host

# How far a float32 result may be from the float64 one: phases of a few units are known to 5e-7,
# and columns are of order one.
SINGLE = 2e-5

# The public names that are maps of rows; the others are models.
PUBLIC_MAPS = {name for name in bochner.__all__ if hasattr(getattr(bochner, name), "transform")}

# Two values of every parameter of every map; one differs from what was given.
ANOTHER: dict[str, tuple[Any, Any]] = {
    "n_components": (2, 4),
    "kernel": ("cauchy", "laplacian"),
    "gamma": (0.1, 3.0),
    "sampling": ("iid", "sobol"),
    "paired": (False, True),
    "orthogonal": (False, True),
    "n_jobs": (1, 2),
    "memory_budget": (10**6, 10**7),
    "random_state": (5, 6),
    "divergence": ("kl", "chi2"),
    "beta": (0.5, 7.0),
    "rho": (0.5, 0.7),
    "mu": (3.0, 4.0),
    "n_candidates": (7, 8),
    "n_chosen": (1, 2),
    "mode": ("diagonal", "full"),
    "n_rounds": (2, 3),
    "validation_fraction": (0.3, 0.4),
    "draw": ("heaviest", "with_replacement"),
    "criterion": ("centred", "alignment"),
    "support": ("candidates", "continuous"),
    "target": ("regression", "auto"),
    "landmarks": ("kmeans", "random"),
    "posterior": (None, "kl"),
    "frequencies": ("own", "shared"),
    "n_frequencies": (3, 5),
    "n_fit_steps": ("auto", 3),
    "dual_update": ("gradient", "corrective"),
    "band": (None, 2.0),
    "damping": (0.1, 0.2),
    "strength": (1.0, 2.0),
    "n_peaks": (2, 3),
    "n_chains": (3, 5),
    "n_steps": (2, 3),
    "n_rows": (20, 30),
    "start": (None, [1.0, 2.0]),
    "temperature": (0.5, 1.0),
    "n_directions": (1, None),
    "rows_per_round": (10, None),
    "max_rows": (10, None),
    "stop": (None, 3),
    "polish_steps": (0, 7),
    "warm_start": (False, True),
    "functions": ("zonal", "harmonics"),
    "max_degree": (1, 2),
    "budget": (20, 30),
    "step": (0.1, 0.2),
    "C": (2.0, 3.0),
    "normalize": (False, True),
    "verbose": (False, True),
    "density": ("gaussian", "marginals"),
    "n_mixture": (2, 3),
    "rerank": (False, True),
    "shrinkage": (0.1, None),
}

_FITTED: dict[tuple[Any, ...], Any] = {}


class FeatureMapCase:
    """Subclass, name it Test..., and set :attr:`estimator`."""

    estimator: ClassVar[Any]
    unit_norm: ClassVar[bool]  # whether |phi(x)| = 1 is promised
    # The places where fitting gives the same map to rounding. (The map itself must work in all.)
    fit_agrees: ClassVar[tuple[str, ...]] = (*PLACES, "float32", "table")
    # Where entries of 1e200 are refused. (Elsewhere they give finite features.)
    refuses_huge: ClassVar[tuple[str, ...]] = ("fit", "transform")

    def data(self, dtype: Any = np.float64) -> tuple[np.ndarray, np.ndarray]:
        X, y = make_classification(
            n_samples=120, n_features=6, n_informative=4, n_classes=3, random_state=0
        )
        X[np.abs(X) < 0.3] = 0  # so that the sparse form is sparse
        return X.astype(dtype), y

    def make(self, **parameters: Any) -> Any:
        return clone(self.estimator).set_params(**{"random_state": 0} | parameters)

    def fitted(self, dtype: Any = np.float64, **parameters: Any) -> tuple[Any, np.ndarray]:
        """A map fitted to the rows, and these; the same fit is done once."""
        X, y = self.data(dtype)
        key = type(self), dtype, *sorted(parameters.items())
        if key not in _FITTED:
            _FITTED[key] = self.make(**parameters).fit(X, y)
        return deepcopy(_FITTED[key]), X

    def test_n_components_is_the_number_of_columns(self):
        fitted, X = self.fitted()
        assert fitted.transform(X).shape == (len(X), fitted.n_components)
        assert len(fitted.get_feature_names_out()) == fitted.n_components

    def test_rows_have_the_promised_norm(self):
        fitted, X = self.fitted()
        norms = np.linalg.norm(fitted.transform(X), axis=1)
        if self.unit_norm:
            np.testing.assert_allclose(norms, 1, rtol=1e-13)
        assert np.isfinite(norms).all()

    def test_gram_matrix_is_positive_semi_definite(self):
        fitted, X = self.fitted()
        features = fitted.transform(X)
        values = np.linalg.eigvalsh(features @ features.T)
        assert values.min() > -1e-12 * values.max()

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_dtype_is_kept(self, dtype):
        fitted, X = self.fitted(dtype)
        assert fitted.transform(X).dtype == dtype

    def test_dtypes_are_equivalent(self):
        single, X = self.fitted(np.float32)
        double, X64 = self.fitted(np.float64)
        np.testing.assert_allclose(double.transform(X), double.transform(X64), atol=SINGLE)
        if "float32" in self.fit_agrees:
            np.testing.assert_allclose(single.transform(X), double.transform(X64), atol=SINGLE)

    @pytest.mark.parametrize("place", PLACES)
    def test_places_agree(self, place):
        fitted, X = self.fitted()
        expected = fitted.transform(X)
        there = PLACES[place](X)
        result = fitted.transform(there)
        if place in ("torch", "strict", "dask", "dask_sparse"):
            assert type(result).__module__ == type(there).__module__
        np.testing.assert_allclose(on_host(result), expected, atol=1e-12)
        # fitted there as well
        refitted = on_host(self.make().fit(there, self.data()[1]).transform(there))
        assert refitted.shape == expected.shape
        if place in self.fit_agrees:
            np.testing.assert_allclose(refitted, expected, atol=1e-9)

    def test_rows_do_not_depend_on_each_other(self):
        fitted, X = self.fitted()
        whole = fitted.transform(X)
        parts = [fitted.transform(X[i : i + 7]) for i in range(0, len(X), 7)]
        np.testing.assert_allclose(np.vstack(parts), whole, atol=1e-13)

    def test_threads_do_not_matter(self):
        one, X = self.fitted(n_jobs=1)
        two, _ = self.fitted(n_jobs=2)
        np.testing.assert_array_equal(one.transform(X), two.transform(X))

    def test_the_seed_decides(self):
        fitted, X = self.fitted()
        again = self.make().fit(*self.data())
        other, _ = self.fitted(random_state=1)
        np.testing.assert_array_equal(fitted.transform(X), again.transform(X))
        assert np.abs(fitted.transform(X) - other.transform(X)).max() > 1e-3

    def test_global_seed_is_left_alone(self):
        X, y = self.data()
        np.random.seed(0)
        before = np.random.get_state()[1].copy()
        self.make(random_state=None).fit(X, y)
        # random_state=None may draw from the global generator, a number must not
        np.random.seed(0)
        self.make(random_state=3).fit(X, y)
        np.testing.assert_array_equal(np.random.get_state()[1], before)

    def test_parameters_set_after_fit_do_not_matter(self):
        fitted, X = self.fitted()
        expected, norm = fitted.transform(X), getattr(fitted, "squared_norm_limit", None)
        for name, values in fitted.get_params().items():
            other = next(value for value in ANOTHER[name] if value != values)
            fitted.set_params(**{name: other})
            np.testing.assert_allclose(fitted.transform(X), expected, rtol=0, atol=1e-14)
            assert len(fitted.get_feature_names_out()) == expected.shape[1]
            assert getattr(fitted, "squared_norm_limit", None) == norm

    @pytest.mark.parametrize("place", ["numpy", "csr", "torch", "strict", "dask"])
    def test_huge_entries_are_refused(self, place):
        fitted, X = self.fitted()
        _, y = self.data()
        huge = PLACES[place](X * 1e200)
        actions = {
            "fit": lambda: self.make().fit(huge, y).transform(huge),
            "transform": lambda: fitted.transform(huge),
        }
        for name, action in actions.items():
            if name in self.refuses_huge:
                with pytest.raises(ValueError, match="too large to compute with"):
                    on_host(action())
            else:
                assert np.isfinite(on_host(action())).all()

    def test_a_fit_that_does_not_end_leaves_an_unfitted_map(self, monkeypatch):
        """Interrupted where any attribute is set: not fitted, or fitted as if nothing happened."""
        X, y = self.data()
        refitted, _ = self.fitted()
        expected = refitted.transform(X)
        kind, names, stop = type(refitted), [], [-1]

        def set_attribute(estimator, name, value):
            if len(names) == stop[0]:
                raise KeyboardInterrupt
            names.append(name)
            object.__setattr__(estimator, name, value)

        monkeypatch.setattr(kind, "__setattr__", set_attribute)
        whole = self.make()
        names.clear()
        whole.fit(X, y)
        learned, last = names.index(kind._learned), len(names) - 1
        for at in {0, learned, last}:
            for estimator in (self.make(), refitted):
                names.clear()
                stop[0] = at
                with pytest.raises(KeyboardInterrupt):
                    estimator.fit(X, y)
                stop[0] = -1
                if at <= learned:
                    with pytest.raises(NotFittedError):
                        estimator.transform(X)
                else:
                    np.testing.assert_array_equal(estimator.transform(X), expected)

    def test_clone_and_pickle(self):
        X, y = self.data()
        fitted = self.make().fit(X, y)
        copy = clone(fitted)
        assert not hasattr(copy, "n_features_in_")
        assert copy.get_params().keys() == fitted.get_params().keys()
        loaded = pickle.loads(pickle.dumps(fitted))
        np.testing.assert_array_equal(loaded.transform(X), fitted.transform(X))

    def test_tables_keep_their_names(self):
        pd = pytest.importorskip("pandas")
        X, y = self.data()
        table = pd.DataFrame(X, columns=[f"c{i}" for i in range(X.shape[1])], index=range(5, 125))
        fitted = self.make().set_output(transform="pandas").fit(table, y)
        result = fitted.transform(table)
        assert list(fitted.feature_names_in_) == list(table.columns)
        assert list(result.columns) == list(fitted.get_feature_names_out())
        assert result.index.equals(table.index)
        # a table is stored by column: the same products in another order
        expected = self.fitted()[0].transform(X)
        if "table" in self.fit_agrees:
            np.testing.assert_allclose(result, expected, rtol=0, atol=1e-14)
        with pytest.raises(ValueError, match="feature names"):
            fitted.transform(table.rename(columns={"c0": "other"}))

    def test_dask_tables(self):
        """With nullable columns, an empty partition and lengths that nobody has counted."""
        dd, pd = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
        X, y = self.data()
        table = pd.DataFrame(X, columns=list("abcdef")).astype("Float64")
        parts = [table[:50], table[:0], table[50:]]
        lazy = dd.from_map(lambda part: part, parts, meta=table[:0])
        expected = self.fitted()[0].transform(X)
        refitted = self.make().fit(lazy, y)
        assert list(refitted.feature_names_in_) == list("abcdef")
        result = on_host(refitted.transform(lazy))
        assert result.shape == expected.shape
        if "dask" in self.fit_agrees:
            np.testing.assert_allclose(result, expected, atol=1e-9)
        missing = lazy.mask(lazy == X[3, 1])
        with pytest.raises(ValueError, match="NaN"):
            on_host(refitted.transform(missing))

    def test_a_second_device(self):
        xp = pytest.importorskip("array_api_strict")
        fitted, X = self.fitted()
        there = xp.asarray(X, device=xp.Device("device1"))
        result, expected = fitted.transform(there), fitted.transform(X)
        assert result.device == there.device
        np.testing.assert_allclose(on_host(result), expected, atol=1e-12)
        refitted = self.make().fit(there, self.data()[1])
        if "strict" in self.fit_agrees:
            np.testing.assert_allclose(on_host(refitted.transform(there)), expected, atol=1e-9)

    @pytest.mark.filterwarnings("ignore:Sparse CSR tensor support:UserWarning")
    @pytest.mark.parametrize("layout", ["csr", "coo"])
    def test_sparse_tensors_are_refused(self, layout):
        fitted, X = self.fitted()
        tensor = PLACES["torch"](X)
        tensor = tensor.to_sparse_csr() if layout == "csr" else tensor.to_sparse()
        for action in (fitted.transform, lambda rows: self.make().fit(rows, self.data()[1])):
            with pytest.raises(ValueError, match=r"sparse PyTorch tensor .* X.to_dense\(\)"):
                action(tensor)

    def test_tables_of_dask_arrays_are_refused(self):
        """They would collect all rows without a word."""
        fitted, X = self.fitted()
        fitted.set_output(transform="pandas")
        with pytest.raises(ValueError, match="would collect all rows of a dask array"):
            fitted.transform(PLACES["dask"](X))

    @pytest.mark.parametrize("place", ["numpy", "csr", "torch", "strict", "dask"])
    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_not_a_number_is_refused(self, place, bad):
        fitted, X = self.fitted()
        X[7, 2] = bad
        with pytest.raises(ValueError, match=r"(?i)NaN|infinity"):
            on_host(fitted.transform(PLACES[place](X)))

    @pytest.mark.parametrize("place", ["numpy", "csr", "torch", "strict", "dask"])
    def test_wrong_number_of_columns(self, place):
        fitted, X = self.fitted()
        with pytest.raises(ValueError, match="5 features"):
            fitted.transform(PLACES[place](X[:, :5]))

    @pytest.mark.parametrize("place", ["numpy", "torch", "strict", "dask"])
    def test_empty_rows_and_wrong_dimensions(self, place):
        X, y = self.data()
        for wrong in (X[:0], X[:, :0], X[:, :, None]):
            there = PLACES[place](wrong) if place != "dask" else _as_dask(wrong)
            with pytest.raises(ValueError, match=r"(?i)found|expected|sample|dimension"):
                self.make().fit(there, y[: len(wrong)])

    @pytest.mark.parametrize("place", ["numpy", "torch", "strict", "dask"])
    def test_complex_rows_are_refused(self, place):
        X, y = self.data()
        with pytest.raises(ValueError, match=r"(?i)complex|real"):
            self.make().fit(PLACES[place](X + 0j), y)

    def test_text_is_refused(self):
        _, y = self.data()
        text = [["a", "b"]] * len(y)
        for wrong in (text, np.array(text), np.array(text, object), np.array(text, bytes)):
            with pytest.raises(ValueError, match=r"X must hold numbers.* to float: b?'a'\. "):
                self.make().fit(wrong, y)

    @pytest.mark.parametrize("dtype", [np.int32, np.bool_, np.uint8])
    def test_integers_count_as_float64(self, dtype):
        X, y = self.data()
        whole = np.round(np.abs(X) * 3).astype(dtype)
        result = self.make().fit(whole, y).transform(whole)
        assert result.dtype == np.float64
        expected = self.make().fit(whole.astype(float), y).transform(whole.astype(float))
        np.testing.assert_allclose(result, expected, atol=1e-13)

    def test_half_precision_counts_as_float32(self):
        X, y = self.data(np.float16)
        assert self.make().fit(X, y).transform(X).dtype == np.float32

    def test_fit_does_not_change_its_input(self):
        X, y = self.data()
        X.setflags(write=False)
        self.make().fit(X, y).transform(X)


def _as_dask(X: np.ndarray) -> Any:
    return pytest.importorskip("dask.array").from_array(X, chunks=-1)
