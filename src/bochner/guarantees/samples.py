"""The worth of `n` rows: number of independent pairs, and variance of the empirical loss."""

from __future__ import annotations

from bochner.guarantees.checks import check_count


def effective_pairs(n: int) -> int:
    """Number of independent pairs that all pairs of `n` rows are worth, ``n // 2``.

    By Hoeffding's argument, the mean over all pairs is the average, over all orders of the rows,
    of the mean of ``n // 2`` pairs without a row in common.

    Examples
    --------
    >>> from bochner.guarantees import effective_pairs
    >>> effective_pairs(101)
    50
    """
    return check_count("n", n, 2) // 2


def landmark_pairs(n: int, *, in_sample: bool = True) -> int:
    """Number of independent pairs that a landmark makes with `n` rows.

    This is one less than `n` when the landmark is one of the rows.

    Examples
    --------
    >>> from bochner.guarantees import landmark_pairs
    >>> landmark_pairs(100), landmark_pairs(100, in_sample=False)
    (99, 100)
    """
    n = check_count("n", n, 2)
    return n - 1 if in_sample else n


def variance_bound(n: int, *, binary: bool = True) -> float:
    r"""Largest possible variance of the empirical loss of one candidate over all pairs.

    .. math:: v_n = \frac{n - 1}{2 n (2 n - 3)} \text{ for two classes}, \qquad
              v_n = \frac{1}{2 n} \text{ in general}

    The first bound is attained. Lemma 6 of the paper has :math:`1 / (4 n)`, which is too small:
    half of the true value at ``n = 2``.

    Parameters
    ----------
    n : int
        Number of rows.
    binary : bool, default=True
        Whether there are two classes.

    Examples
    --------
    >>> from bochner.guarantees import variance_bound
    >>> variance_bound(2), variance_bound(10, binary=False)
    (0.25, 0.05)
    """
    n = check_count("n", n, 2)
    return (n - 1) / (2 * n * (2 * n - 3)) if binary else 1 / (2 * n)
