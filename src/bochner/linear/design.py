"""Features with a column of ones, and products with them, as the solvers use them."""

from __future__ import annotations

from typing import Any

import numpy as np

from bochner.engine.places import (
    cast,
    convert,
    detached,
    is_host,
    machine_epsilon,
    namespace,
    wide_dtype,
    zeros,
)

TINY = float(np.finfo(np.float32).tiny)


class Design:
    """The features with a column of ones appended, without forming that array.

    Vectors of coefficients are rows of a ``(k, D + 1)`` array and vectors over the data rows are
    rows of a ``(k, n)`` array, so that sums run along the memory.
    """

    def __init__(self, features: Any, weights: Any, fit_intercept: bool) -> None:
        self.xp, self.features, self.weights = namespace(features), features, weights
        self.n, self.D = features.shape
        self.fit_intercept = fit_intercept
        self.size = self.D + int(fit_intercept)
        self.wide = wide_dtype(features)
        self.epsilon = machine_epsilon(features.dtype, self.xp)
        self.host = is_host(features)

    @classmethod
    def of(cls, features: Any, sample_weight: Any, fit_intercept: bool) -> Design:
        if not hasattr(features, "dtype"):
            features = np.asarray(features, dtype=np.float64)
        if len(features.shape) != 2 or features.shape[0] == 0:
            raise ValueError(
                f"features must have shape (n, D) with n > 0, got {tuple(features.shape)}."
            )
        xp = namespace(features)
        if features.dtype not in (xp.float32, xp.float64):
            raise ValueError(f"features must be float32 or float64, got {features.dtype}.")
        features, weights = detached(features), None
        if sample_weight is not None:
            weights = convert(sample_weight, features)
            if tuple(weights.shape) != (features.shape[0],):
                raise ValueError(
                    f"sample_weight must have shape ({features.shape[0]},), "
                    f"got {tuple(weights.shape)}."
                )
            if is_host(features) and not np.all(np.isfinite(weights) & (weights >= 0)):
                raise ValueError("sample_weight must be finite and zero or more.")
        return cls(features, weights, fit_intercept)

    def product(self, V: Any) -> Any:
        """Return ``V [Phi | 1]^T``, of shape (k, n), in the features' dtype."""
        V = cast(V, self.features.dtype)
        if not self.fit_intercept:
            return V @ self.features.T
        return V[:, : self.D] @ self.features.T + V[:, self.D :]

    def adjoint(self, R: Any) -> Any:
        """Return ``R [Phi | 1]``, of shape (k, D + 1), wide."""
        sums = cast(R @ self.features, self.wide)
        if not self.fit_intercept:
            return sums
        ones = cast(self.xp.sum(R, axis=1, keepdims=True), self.wide)
        return self.xp.concat([sums, ones], axis=1)

    def weighted(self, R: Any) -> Any:
        return R if self.weights is None else R * self.weights

    def gram(self, rows: Any = None, factors: Any = None) -> Any:
        """Return ``[Phi | 1]^T S [Phi | 1]`` over some rows, or with factors on all rows; wide."""
        xp, Phi, scale = self.xp, self.features, self.weights
        if rows is not None:
            Phi, scale = Phi[rows], None if scale is None else scale[rows]
        if factors is not None:
            scale = factors if scale is None else scale * factors
        if scale is not None:
            Phi = Phi * xp.sqrt(scale)[:, None]
        # the product of an array with its own transpose takes half the time in BLAS
        inner = cast(Phi.T @ Phi, self.wide)
        if not self.fit_intercept:
            return inner
        if scale is None:
            scale = xp.ones_like(Phi[:, 0])
            sums = cast(xp.sum(Phi, axis=0), self.wide) if not self.host else column_sums(Phi)
        else:
            sums = cast(xp.sqrt(scale) @ Phi, self.wide)
        total = xp.sum(cast(scale, self.wide))
        right = xp.concat([sums, xp.reshape(total, (1,))])[:, None]
        return xp.concat([xp.concat([inner, sums[None, :]], axis=0), right], axis=1)

    def zeros(self, k: int) -> Any:
        return zeros((k, self.size), self.features, self.wide)


def column_sums(Phi: Any) -> Any:
    # One BLAS product: NumPy's own sum along the first axis adds float32 numbers one by one.
    return (np.ones(Phi.shape[0], Phi.dtype) @ Phi).astype(np.float64)


def check_signs(name: str, values: Any) -> None:
    """Refuse host values other than -1 and +1."""
    wrong = ~((values == 1) | (values == -1))
    if wrong.any():
        raise ValueError(f"{name} must hold -1 and +1 only, got {values[wrong].flat[0]!r}.")


def positive(xp: Any, values: Any) -> Any:
    return xp.maximum(values, xp.zeros_like(values))


def dot(xp: Any, A: Any, B: Any) -> Any:
    """Return the inner products of rows, of shape (k, 1)."""
    return xp.sum(A * B, axis=1, keepdims=True)


def norm(xp: Any, A: Any) -> Any:
    return xp.sqrt(dot(xp, A, A))


def ratio(xp: Any, numerator: Any, denominator: Any) -> Any:
    """Return the quotient of non-negative numbers that are zero only together."""
    return numerator / (denominator + TINY)
