r"""Ridge regression whose penalty is chosen without held-out rows.

Generalised cross-validation (Golub, Heath and Wahba) takes the penalty :math:`\lambda` that
minimises

.. math::

    \frac{|Y - \hat Y_\lambda|^2}{(n - 1 - \mathrm{tr} H_\lambda)^2}, \qquad
    \hat Y_\lambda = \bar y + H_\lambda (Y - \bar y),

which a single eigendecomposition of the normal equations gives for all penalties.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.engine.places import to_numpy
from bochner.linear.normal_equations import NormalEquations

Float = NDArray[np.float64]

_PENALTIES = 10.0 ** np.arange(1, -9.5, -0.5)  # per row, for features up to about 1


def sum_of_squares(targets: Float, weights: Float | None = None) -> float:
    """Return the sum of squares of the targets about their means, over all columns together."""
    squares = ((targets - np.average(targets, axis=0, weights=weights)) ** 2).sum(axis=1)
    return float(squares.sum() if weights is None else weights @ squares)


def cross_validated_ridge(
    equations: NormalEquations, squares: float, columns: Any = None
) -> tuple[Float, Float]:
    """Return coefficients and intercepts for the penalty that minimises the GCV error.

    Parameters
    ----------
    equations : NormalEquations
        Sums over the rows; weights are counts. The features should be up to about 1 in size, as
        waves and similarities are: the penalties, from 1e-9 to 10 per row, are meant for that.
    squares : float
        The :func:`sum_of_squares` of the targets.
    columns : integer array of shape (p,), optional
        Positions of the features to use; all by default.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.linear.cross_validation import cross_validated_ridge, sum_of_squares
    >>> from bochner.linear.normal_equations import NormalEquations
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> y = 3 * X[:, :1] + 1
    >>> equations = NormalEquations.from_rows(X, y)
    >>> coefficients, intercepts = cross_validated_ridge(equations, sum_of_squares(y))
    >>> coefficients.round(6).ravel(), intercepts.round(6)
    (array([3., 0.]), array([1.]))
    """
    some = np.arange(equations.n_features) if columns is None else columns
    gram, n = to_numpy(equations.gram)[np.ix_(some, some)], equations.weight
    values, vectors = np.linalg.eigh(gram)
    turned = vectors.T @ to_numpy(equations.moments)[some]
    epsilon = len(values) * np.finfo(np.float64).eps
    above = values > epsilon * values[-1]
    spanned, energy = values[above], (turned[above] ** 2).sum(axis=1)
    # With as many features as rows, differences of large numbers would be nothing but rounding.
    condition = np.sqrt(spanned[-1] / spanned[0]) if len(spanned) else 1.0
    left = squares - (energy / spanned).sum()
    if left <= epsilon * squares * condition:
        left = 0.0
    values = np.maximum(values, 0.0)

    def criterion(penalty: float) -> float:
        share = penalty / (spanned + penalty)
        error = left + (share**2 * energy / spanned).sum()
        freedom = n - 1 - len(spanned) + share.sum()
        return float(error / freedom**2) if freedom > 0 else np.inf

    penalty = min(n * _PENALTIES, key=criterion)
    solution = vectors @ (turned / (values + penalty)[:, None])
    intercepts = to_numpy(equations.target_means) - to_numpy(equations.means)[some] @ solution
    return solution, intercepts
