"""Base classes of the feature maps: input checks, and what they tell scikit-learn."""

from __future__ import annotations

import re
from copy import deepcopy
from typing import Any, ClassVar

import numpy as np
from joblib import effective_n_jobs
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted, validate_data

from bochner.engine.places import (
    as_float,
    asks_for_gradients,
    check_entries,
    check_layout,
    detached,
    float_dtype,
    is_dask,
    is_dask_table,
    is_device,
    is_real,
    largest_squared,
    table_as_array,
    without_half,
)
from bochner.engine.rowwise import map_rows, with_known_lengths
from bochner.targets import Target, TargetKind, check_labels
from bochner.weights import repeated_rows


class CheckedRows(BaseEstimator):
    """Base class of estimators that take rows: dense, sparse, on a device, or on a cluster."""

    _learned: ClassVar[str] = "n_features_in_"  # attribute that a fitted estimator has
    n_jobs: int | None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, self._learned)

    def _validate_rows(self, X: Any, *, reset: bool) -> Any:
        """Check `X` where it is, and return it in the floating dtype of the results.

        This is the border of the package: behind it, rows are float32 or float64, by the table of
        :mod:`bochner.engine.places`, dense or CSR, and finite. NumPy arrays, tables and sparse
        matrices go through scikit-learn's own checks. Arrays on a device and dask arrays are
        checked for the same mistakes in place; the finiteness of a dask array is checked block
        by block when it is computed. A fit begins here: until it has ended, the map counts as not
        fitted.
        """
        if reset:
            self.__dict__.pop(self._learned, None)
        if is_dask(X) or is_device(X):
            X = self._check_elsewhere(detached(X) if reset else X, reset=reset)
            largest = self._largest_entry(float_dtype(X), reset=reset)
            meta = getattr(X, "_meta", None)
            return map_rows(_checked, X, X.shape[1], meta=meta, largest=largest)
        floats = [np.float64, np.float32]
        options = {"accept_sparse": "csr", "dtype": floats, "reset": reset}
        try:
            X = validate_data(self, without_half(X), **options)
        except ValueError as error:
            raise _about_text(error) from error
        check_entries(X, self._largest_entry(X.dtype, reset=reset))
        return X

    def _largest_entry(self, dtype: np.dtype[Any], *, reset: bool) -> float:
        """Return how large entries of rows may be, in `fit` (`reset`) or later.

        By default, sums of their squares must not overflow in float64.
        """
        return largest_squared(np.float64)

    def _check_elsewhere(self, X: Any, *, reset: bool) -> Any:
        """Check the kind and shape of rows that are not on the host; a table becomes an array."""
        named = X
        if is_dask_table(X):
            named, X = X._meta, table_as_array(X)
        check_layout(X)
        kind = "a dask array" if is_dask(X) else "an array"
        if X.ndim != 2:
            raise ValueError(f"Expected 2D array, got {kind} with {X.ndim} dimensions.")
        if not is_real(X):
            raise ValueError(f"X must hold real numbers, got {kind} of {X.dtype}.")
        if X.shape[0] == 0 or X.shape[1] == 0:
            raise ValueError(
                f"Found {kind} that is empty, shape {tuple(X.shape)}; at least one row and one "
                "column are required."
            )
        validate_data(self, named, reset=reset, skip_check_array=True)
        return X

    def _n_threads(self) -> int | None:
        """Return `n_jobs` as the engine takes it: None is what BLAS may use."""
        return None if self.n_jobs is None else effective_n_jobs(self.n_jobs)


class FeatureMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, CheckedRows):
    """Base class of the feature maps."""

    memory_budget: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def transform(self, X: Any) -> Any:
        """Map rows to features.

        Parameters
        ----------
        X : array-like, sparse matrix, device array or dask array of shape (n, n_features)
            Rows.

        Returns
        -------
        array of shape (n, n_features_out)
            Features, of the same kind as `X`, where `X` is, and in its floating dtype (float32 for
            float16, float64 for integers); lazy if `X` is a dask array. If `X` is a PyTorch tensor
            that requires gradients, the features have them, or an error says why not: a kernel of
            your own, :class:`MercerFeatures` with ``density="marginals"`` and networks are
            computed by code that PyTorch cannot follow.
        """
        check_is_fitted(self)
        container = _get_output_config("transform", self)["dense"]
        if is_dask(X) and container != "default":
            raise ValueError(
                f"set_output(transform={container!r}) would collect all rows of a dask array in "
                "memory: use transform='default', which gives a lazy dask array."
            )
        features = self._features(self._validate_rows(X, reset=False))
        if asks_for_gradients(X) and not asks_for_gradients(features):
            raise without_gradients(self)
        return features

    def _features(self, X: Any) -> Any:
        """Return the features of rows that have been checked."""
        raise NotImplementedError

    def _engine_options(self) -> dict[str, Any]:
        """Return `n_jobs` and `memory_budget` as the engine takes them."""
        return {"n_threads": self._n_threads(), "memory_budget": self.memory_budget}


class SupervisedFeatureMap(FeatureMap):
    """Base class of the feature maps that learn from labels."""

    target: TargetKind
    random_state: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def _validate_labelled(
        self, X: Any, y: Any, sample_weight: Any = None, *, reset: bool = True
    ) -> tuple[Any, NDArray[Any], Target]:
        """Return the rows, repeated by weight, their labels, and the kind of these labels."""
        X = with_known_lengths(self._validate_rows(X, reset=reset))
        y = check_labels(y, X.shape[0])
        X, y = repeated_rows(X, y, sample_weight, self._weights_seed())
        return X, y, Target.of(y, self.target)

    def _weights_seed(self) -> RandomState:
        """Return a copy of `random_state` for fractional weights; the original is not advanced."""
        return deepcopy(check_random_state(self.random_state))


def subtask_done(context: Any, estimator: Any, name: str) -> bool | None:
    """Tell scikit-learn's callbacks of a step of a fit; True where one asks to stop."""
    task = context.subcontext(task_name=name).call_on_fit_task_begin(estimator=estimator)
    stop: bool | None = task.call_on_fit_task_end(estimator=estimator)
    return stop


def without_gradients(feature_map: Any) -> ValueError:
    """Return the error for rows whose gradients would be lost."""
    return ValueError(
        f"X asks for gradients, which this {type(feature_map).__name__} cannot give: its features "
        "are computed by code that PyTorch does not follow. Use X.detach()."
    )


def n_pairs(n_components: int, otherwise: str = "") -> int:
    """Return the number of frequencies of cosine and sine maps; `otherwise` ends the error."""
    if n_components % 2:
        raise ValueError(
            f"n_components must be even, got {n_components}: each frequency gives a cosine and a "
            f"sine.{otherwise}"
        )
    return n_components // 2


def _about_text(error: ValueError) -> ValueError:
    """Reword scikit-learn's error about text in terms of `X`, without NumPy's type names."""
    said, _, found = str(error).partition("could not convert string to float: ")
    if said or not found:
        return error
    value = re.sub(r"^np\.(?:str|bytes)_\((.*)\)$", r"\1", found)
    return ValueError(
        f"X must hold numbers, but holds text: could not convert string to float: {value}. Encode "
        "such columns first, for example with OneHotEncoder."
    )


def _checked(rows: Any, largest: float) -> Any:
    check_entries(rows, largest)
    return as_float(rows)
