"""What all feature maps share: how they look at their input, and what they tell scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import validate_data

from bochner.engine.operations import is_dask, is_device


class FeatureMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of the feature maps. Rows may be dense, sparse, on a device, or on a cluster."""

    n_jobs: int | None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _validate_rows(self, X: Any, *, reset: bool) -> Any:
        """Check `X` where it is, and return it as something the engine takes.

        NumPy arrays, tables and sparse matrices go through scikit-learn's own checks (sparse
        formats other than CSR are converted; integers become float64, float16 float32). Arrays
        on a device and dask arrays are checked for the same mistakes in place; the finiteness
        of a dask array is checked block by block when it is computed.
        """
        if is_dask(X):
            return self._validate_dask(X, reset=reset)
        if is_device(X):
            return self._validate_device(X, reset=reset)
        if getattr(X, "dtype", None) == np.float16:
            X = X.astype(np.float32)
        return validate_data(
            self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=reset
        )

    def _n_threads(self) -> int | None:
        """`n_jobs` as the engine takes it: None is what BLAS may use."""
        return None if self.n_jobs is None else effective_n_jobs(self.n_jobs)

    def _validate_dask(self, X: Any, *, reset: bool) -> Any:
        names = None
        if hasattr(X, "to_dask_array"):  # a dask dataframe
            names, X = X._meta, X.to_dask_array()
        if X.ndim != 2:
            raise ValueError(f"Expected 2D array, got a dask array with {X.ndim} dimensions.")
        if np.dtype(X.dtype).kind not in "fiub":
            raise ValueError(f"X must hold real numbers, got a dask array of {X.dtype}.")
        if X.shape[0] == 0 or X.shape[1] == 0:
            raise ValueError(
                f"Found an empty dask array, shape {X.shape}; at least one row and "
                "one column are required."
            )
        validate_data(self, X if names is None else names, reset=reset, skip_check_array=True)
        return X.map_blocks(_finite, dtype=X.dtype, meta=X._meta)

    def _validate_device(self, X: Any, *, reset: bool) -> Any:
        from array_api_compat import array_namespace

        xp = array_namespace(X)
        if X.ndim != 2:
            raise ValueError(f"Expected 2D array, got shape {tuple(X.shape)}.")
        if not xp.isdtype(X.dtype, ("real floating", "integral", "bool")):
            raise ValueError(f"X must hold real numbers, got dtype {X.dtype}.")
        if X.shape[0] == 0 or X.shape[1] == 0:
            raise ValueError(
                f"Found an empty array, shape {tuple(X.shape)}; at least one row and "
                "one column are required."
            )
        validate_data(self, X, reset=reset, skip_check_array=True)
        if xp.isdtype(X.dtype, "real floating") and not bool(xp.all(xp.isfinite(X))):
            raise ValueError("Input X contains NaN or infinity.")
        return X


def float_dtype(X: Any) -> Any:
    """The NumPy dtype of numbers that go with validated rows, wherever these are."""
    return np.float32 if str(X.dtype).endswith("float32") else np.float64


def _finite(block: Any) -> Any:
    values = block.data if hasattr(block, "indptr") else block
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise ValueError("Input X contains NaN or infinity.")
    return block
