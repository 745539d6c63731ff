"""Penalties that a search tries, and which of them correspond on more rows."""

from __future__ import annotations

from dataclasses import dataclass

PENALTIES = tuple(10.0**k for k in range(0, -10, -1))  # alpha per row, the strongest first
_HARDLY_FELT = 1e-8  # per row


@dataclass(frozen=True)
class Penalties:
    """Penalties per row for increasing numbers of rows, the same in total for all of them.

    The total penalty stands for the variance of the noise, whatever the number of rows. A penalty
    with hardly any effect stays the same per row: float32 would not bear less.

    Attributes
    ----------
    few_rows : int
        Number of rows up to which the penalties are those of :data:`PENALTIES`.
    given : float or None
        The only penalty, for any number of rows, or None.

    Examples
    --------
    >>> from bochner.models.penalties import Penalties
    >>> penalties = Penalties(few_rows=1500)
    >>> penalties.of(1500)[4:6]
    (0.0001, 1e-05)
    >>> penalties.of(3000)[4:6]
    (5e-05, 5e-06)
    >>> penalties.weaker(1e-8, 1500, 3000)
    (1e-08, 1e-09)
    """

    few_rows: int
    given: float | None = None

    def of(self, n_rows: int) -> tuple[float, ...]:
        """Return the penalties for a number of rows, the strongest first."""
        if self.given is not None:
            return (self.given,)
        share = min(1.0, self.few_rows / n_rows)
        return tuple(max(share * one, min(one, _HARDLY_FELT)) for one in PENALTIES)

    def weaker(self, penalty: float, n_rows: int, other_rows: int) -> tuple[float, ...]:
        """Return what a penalty for `n_rows` rows is for `other_rows`, and all weaker ones."""
        return self.of(other_rows)[self.of(n_rows).index(penalty) :]
