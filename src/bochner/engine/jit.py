"""Loops compiled by Numba, with a cache on disk where one works.

Without a writable folder, on a full disk, or with damaged files in the cache, the loops are
compiled anew in every process: this is slower to start, but not an error.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from numba import njit

_warned = [False]


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return ``numba.njit(nogil=True, **options)``, cached on disk if possible."""

    def compile_function(function: Callable[..., Any]) -> Any:
        try:
            dispatcher = njit(nogil=True, cache=True, **options)(function)
        except RuntimeError as error:  # no writable folder
            _warn(error)
            return njit(nogil=True, **options)(function)
        dispatcher._cache = _TolerantCache(dispatcher._cache)
        return dispatcher

    return compile_function


class _TolerantCache:
    """Numba's cache of one function; code that cannot be read or written is compiled."""

    def __init__(self, cache: Any) -> None:
        self._cache = cache

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)

    def load_overload(self, signature: Any, context: Any) -> Any:
        try:
            return self._cache.load_overload(signature, context)
        except Exception as error:  # any error that a damaged file causes in pickle
            _warn(error)
            return None

    def save_overload(self, signature: Any, data: Any) -> None:
        try:
            self._cache.save_overload(signature, data)
        except Exception:
            try:  # an index that cannot be read is replaced
                self._cache.flush()
                self._cache.save_overload(signature, data)
            except Exception as error:
                _warn(error)


def _warn(error: Exception) -> None:
    if not _warned[0]:
        _warned[0] = True
        warnings.warn(
            "compiled code cannot be kept on disk, so that every process compiles it again "
            f"(NUMBA_CACHE_DIR names another folder): {error}",
            RuntimeWarning,
            stacklevel=3,
        )
