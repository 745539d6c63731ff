"""Certificates for a classifier, as opposed to the kernel it uses.

There are two kinds, with different conditions:

* :func:`certify` and :func:`clopper_pearson` count errors on rows that took no part in anything.
  They apply to any classifier, are exact, and nearly always give the smaller number. The price is
  the held-out rows.
* :func:`linear_pac_bayes` uses the very rows that the linear classifier was fitted on. It costs
  no rows, but the features must have been fixed without them, and it is looser.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from bochner.guarantees.checks import check_count, check_delta, check_same_shape, check_signs
from bochner.guarantees.guarantee import Guarantee
from bochner.guarantees.pac_bayes import pac_bayes_kl


def clopper_pearson(errors: int, n: int, delta: float = 0.05) -> float:
    r"""Upper confidence bound on an error rate from `errors` errors among `n` rows.

    .. math:: \max \{ p : P(\mathrm{Binomial}(n, p) \le \mathrm{errors}) \ge \delta \}

    This is the quantile :math:`1 - \delta` of the Beta distribution with parameters
    ``errors + 1`` and ``n - errors`` (Clopper and Pearson 1934). It holds with probability at
    least ``1 - delta`` over the rows for any predictor that was fixed before seeing them. For the
    best of `g` predictors tried on the same rows, use ``delta / g``.

    Parameters
    ----------
    errors : int
        Number of wrong predictions, from 0 to `n`.
    n : int
        Number of independent held-out rows.
    delta : float, default=0.05
        Probability that the bound may fail.

    Examples
    --------
    >>> from bochner.guarantees import clopper_pearson
    >>> round(clopper_pearson(0, 100), 4), round(clopper_pearson(5, 100), 4)
    (0.0295, 0.1023)
    """
    n, errors = check_count("n", n, 1), check_count("errors", errors, 0)
    delta = check_delta(delta)
    if errors > n:
        raise ValueError(f"errors must be at most n = {n}, got {errors}.")
    if errors == n:
        return 1.0
    # The complemented inverse: exact also for a delta below the spacing of numbers near 1.
    return float(special.betainccinv(errors + 1, n - errors, delta))


def certify(model: Any, X: Any, y: ArrayLike, delta: float = 0.05) -> Guarantee:
    """Bound the error rate of a fitted classifier from rows that took no part in fitting it.

    The bound is that of :func:`clopper_pearson`. It holds for any classifier if the rows are
    independent, from the distribution of interest, and were used for nothing before: neither to
    fit the model or its scaler, nor to choose a setting, nor to stop early. Certifying a second
    model on the same rows is fine if both were fixed before; to report the better one, halve
    `delta`.

    Parameters
    ----------
    model : object with a method ``predict``
        A fitted classifier.
    X : array of shape (n, d)
        Held-out rows.
    y : array of shape (n,)
        Labels of the held-out rows.
    delta : float, default=0.05
        Probability that the bound may fail.

    Returns
    -------
    Guarantee
        Bound on the error rate; the error rate on the rows is `observed`, and the details hold the
        number of ``errors``.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> from bochner.guarantees import certify
    >>> model = DummyClassifier(strategy="constant", constant=1).fit([[0], [0]], [0, 1])
    >>> print(certify(model, [[0]] * 100, [1] * 95 + [0] * 5))
    With probability 0.95, the error rate on new rows is at most 10.23 %
    (Clopper and Pearson: 5.00 % on 100 held-out rows, errors 5).
    Holds for independent rows that were used for nothing before.
    """
    delta = check_delta(delta)
    labels, predicted = np.asarray(y), np.asarray(model.predict(X))
    n = check_count("n", labels.size, 1)
    # A column of labels would broadcast against a row of predictions.
    check_same_shape("y and the predictions", "(n,)", labels, predicted)
    errors = int(np.count_nonzero(predicted != labels))
    upper = clopper_pearson(errors, n, delta)
    return Guarantee(
        "error rate",
        upper,
        delta,
        "Clopper and Pearson",
        f"{n} held-out rows",
        ("independent rows that were used for nothing before",),
        observed=errors / n,
        details={"errors": errors},
        percent=True,
    )


def linear_pac_bayes(
    features: ArrayLike,
    labels: ArrayLike,
    coefficients: ArrayLike,
    delta: float = 0.05,
    *,
    scales: ArrayLike | None = None,
) -> Guarantee:
    r"""PAC-Bayes-kl bound for a linear classifier, from the rows it was fitted on.

    The prior over coefficients is :math:`N(0, I)` and the posterior :math:`N(s u, I)`, where
    :math:`u = w / \|w\|` is the direction of the classifier (Langford and Shawe-Taylor 2002).
    Coefficients drawn from it are wrong on :math:`(x, y)` with probability

    .. math:: r_s(x, y) = \bar\Phi \left( s \, \frac{y \langle u, x \rangle}{\|x\|} \right),
              \qquad \bar\Phi(z) = P(N(0, 1) > z),

    and the error rate of this randomised classifier is at most

    .. math:: \mathrm{kl}^{-1} \left( \frac{1}{n} \sum_i r_s(x_i, y_i),
              \frac{s^2 / 2 + \ln (2 \sqrt{n} / \delta)}{n} \right).

    Wherever the deterministic classifier :math:`\mathrm{sign} \langle w, x \rangle` is wrong, the
    randomised one is wrong with probability at least 1/2; so twice the bound holds for the
    deterministic classifier.

    The bound holds for all posteriors at once. Therefore `coefficients` may be fitted on the same
    rows in any way, and the best `s` may be sought on them, over any grid, at no price. The map to
    `features` (frequencies, bandwidth, scaler) must not depend on the rows. Features learned from
    the same rows (posteriors, margin features) void the bound; learn them on other rows.

    Parameters
    ----------
    features : array of shape (n, p)
        Inputs of the linear classifier. If it has an intercept, append a column of ones.
    labels : array of shape (n,)
        Labels, -1 or +1.
    coefficients : array of shape (p,)
        Coefficients of the linear classifier; positive scores predict +1. If it has an intercept,
        append it.
    delta : float, default=0.05
        Probability that the bound may fail.
    scales : array, optional
        Values of `s` to try; by default 64 values from 0.1 to ``sqrt(2 n)``, evenly spaced on a
        log scale.

    Returns
    -------
    Guarantee
        Bound on the error rate of the deterministic classifier: twice the bound for the randomised
        one, which draws its coefficients anew for every row and is in the details as ``gibbs``.
        The other details are ``empirical gibbs``, the error rate of the randomised classifier on
        the rows; ``scale``, the `s` at which the bound is smallest; and the ``divergence``,
        ``scale ** 2 / 2``.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.guarantees import linear_pac_bayes
    >>> y = np.repeat([-1, 1], 500)
    >>> X = np.column_stack([y, np.tile([-0.5, 0.5], 500)])
    >>> print(linear_pac_bayes(X, y, [1, 0]))
    With probability 0.95, the error rate on new rows is at most 3.19 %
    (PAC-Bayes-kl: 1000 training rows, gibbs 0.01594, empirical gibbs 0.0001924, scale 3.969,
    divergence 7.878). Holds for independent rows of one distribution; features that were fixed
    without them.
    """
    delta = check_delta(delta)
    X = np.asarray(features, dtype=np.float64)
    w = np.asarray(coefficients, dtype=np.float64)
    y = np.asarray(labels)
    if X.ndim != 2 or y.shape != X.shape[:1] or w.shape != X.shape[1:] or len(X) == 0:
        raise ValueError(
            "features, labels and coefficients must have shapes (n, p), (n,) and (p,), "
            f"got {X.shape}, {y.shape} and {w.shape}."
        )
    check_signs("labels", y)
    length = np.linalg.norm(w)
    if not (np.isfinite(length) and length > 0):
        raise ValueError(f"coefficients must be finite and not all zero, got length {length!r}.")
    n = len(X)
    grid = np.geomspace(0.1, np.sqrt(2 * n), 64) if scales is None else np.ravel(scales)
    if len(grid) == 0 or not (np.isfinite(grid) & (grid > 0)).all():
        raise ValueError(f"scales must be positive finite numbers, got {grid}.")
    norms = np.linalg.norm(X, axis=1)
    # A row of zeros has margin 0: its prediction is the toss of a coin.
    margins = y * (X @ (w / length)) / np.where(norms > 0, norms, 1.0)
    risks = np.array([special.ndtr(-s * margins).mean() for s in grid])
    bounds = pac_bayes_kl(risks, grid**2 / 2, n, delta)
    best = int(np.argmin(bounds))
    gibbs, scale = float(bounds[best]), float(grid[best])
    return Guarantee(
        "error rate",
        min(1.0, 2 * gibbs),
        delta,
        "PAC-Bayes-kl",
        f"{n} training rows",
        ("independent rows of one distribution", "features that were fixed without them"),
        details={
            "gibbs": gibbs,
            "empirical gibbs": float(risks[best]),
            "scale": scale,
            "divergence": scale**2 / 2,
        },
        percent=True,
    )
