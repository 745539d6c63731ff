"""Two small facts about the rows that estimators ask for: their variance, and a few of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import gen_batches
from sklearn.utils.random import sample_without_replacement

from bochner.engine.operations import is_dask, is_host

_BATCH = 2**16


def to_numpy(array: Any) -> NDArray[Any]:
    """A copy on the host of an array that may be on a device."""
    if hasattr(array, "detach"):  # PyTorch
        array = array.detach().cpu()
    elif type(array).__module__.partition(".")[0] == "cupy":
        array = array.get()
    return np.asarray(array)


def variance(X: Any) -> float:
    """The variance of all entries of `X`, in one pass, accumulated in float64.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.engine.summaries import variance
    >>> variance(np.array([[0.0, 2.0], [0.0, 2.0]]))
    1.0
    """
    if is_dask(X):
        return float(X.astype(np.float64).var().compute())
    if sparse.issparse(X):
        values = X.data.astype(np.float64)
        size = X.shape[0] * X.shape[1]
        mean = values.sum() / size
        squares = ((values - mean) ** 2).sum() + (size - values.size) * mean**2
        return float(squares / size)
    xp = _namespace(X)
    wide = xp.float64 if hasattr(xp, "float64") else X.dtype
    count, mean, squares = 0, 0.0, 0.0
    for rows in gen_batches(X.shape[0], _BATCH):
        batch = xp.astype(X[rows, :], wide)
        size = batch.shape[0] * batch.shape[1]
        batch_mean = float(xp.mean(batch))
        # Chan's merge of two sets of moments
        shift, total = batch_mean - mean, count + size
        squares += float(xp.var(batch)) * size + shift**2 * count * size / total
        mean += shift * size / total
        count = total
    return squares / count


def sample_rows(X: Any, n_rows: int, random_state: RandomState) -> Any:
    """At most `n_rows` distinct rows of `X`, on the host, in their order in `X`.

    A dask array that does not know the lengths of its blocks is read from its beginning, as far
    as needed.
    """
    if is_dask(X):
        if any(np.isnan(length) for length in X.chunks[0]):
            X = _head(X, n_rows)
        else:
            return X[_choose(X.shape[0], n_rows, random_state)].compute()
    index = _choose(X.shape[0], n_rows, random_state)
    if is_host(X):
        return X[index]
    from array_api_compat import device

    xp = _namespace(X)
    return to_numpy(xp.take(X, xp.asarray(index, device=device(X)), axis=0))


def _namespace(X: Any) -> Any:
    if isinstance(X, np.ndarray):
        return np
    from array_api_compat import array_namespace

    return array_namespace(X)


def _choose(n: int, n_rows: int, random_state: RandomState) -> NDArray[np.intp]:
    if n <= n_rows:
        return np.arange(n)
    chosen = sample_without_replacement(n, n_rows, random_state=random_state)
    return np.sort(chosen)


def _head(X: Any, n_rows: int) -> Any:
    blocks, found = [], 0
    for index in range(X.numblocks[0]):
        block = X.blocks[index].compute()
        blocks.append(block)
        found += block.shape[0]
        if found >= n_rows:
            break
    return sparse.vstack(blocks).tocsr() if sparse.issparse(blocks[0]) else np.concatenate(blocks)
