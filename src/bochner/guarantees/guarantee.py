"""Guarantees: bounds with their probability and their conditions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


class ConditionsNotMet(ValueError):
    """Raised when a condition of a guarantee does not hold; the message says which.

    Any other ValueError means that an argument is invalid.
    """


@dataclass(frozen=True)
class Guarantee:
    """An upper bound on a quantity of unseen data, and the conditions under which it holds.

    Attributes
    ----------
    name : str
        Name of the quantity, such as ``"alignment loss"``.
    value : float
        Upper bound on the quantity, which holds with probability ``1 - delta``.
    delta : float
        Probability that the bound may fail, with all choices accounted for.
    bound : str
        Name of the bound, such as ``"PAC-Bayes-kl"``.
    sample : str
        The rows that the bound was computed from.
    assumptions : tuple of str
        What the bound assumes of the rows, and of what was fixed without them.
    observed : float or None
        The same quantity on the sample, if there is one.
    details : mapping from str to float
        Other numbers that the value is made of.
    uninformative : float, default=1.0
        The value at and above which the bound says nothing.
    scope : str
        The unseen data that the quantity refers to.
    together : int, default=1
        Number of such guarantees that hold at once with that probability.
    each : bool, default=False
        Whether this is one of several guarantees that each hold by themselves with that
        probability.
    percent : bool, default=False
        Whether the statement gives the quantity in per cent.

    Examples
    --------
    >>> from bochner.guarantees import Guarantee
    >>> rate = Guarantee("error rate", 0.1023, 0.05, "Clopper and Pearson", "100 held-out rows",
    ...                  ("independent rows",), observed=0.05, percent=True)
    >>> rate.informative
    True
    >>> print(rate)
    With probability 0.95, the error rate on new rows is at most 10.23 %
    (Clopper and Pearson: 5.00 % on 100 held-out rows). Holds for independent rows.
    """

    name: str
    value: float
    delta: float
    bound: str
    sample: str
    assumptions: tuple[str, ...]
    observed: float | None = None
    details: Mapping[str, float] = field(default_factory=dict, hash=False)
    uninformative: float = 1.0
    scope: str = "on new rows"
    together: int = 1
    each: bool = False
    percent: bool = False

    @property
    def informative(self) -> bool:
        """Whether the bound says anything."""
        return self.value < self.uninformative

    @property
    def statement(self) -> str:
        """The whole guarantee in words."""
        together = f" for all {self.together} at once" if self.together > 1 else ""
        together += " each" * self.each
        nothing = f"{self.uninformative:.4g}"
        if self.percent:
            nothing = f"{100 * self.uninformative:.4g} %"
        verdict = ", which says nothing"
        if self.informative:
            # There is no need to mention that a rate is below 1.
            verdict = f", where {nothing} would say nothing" if self.uninformative < 1 else ""
        observed = "" if self.observed is None else f"{self._text(self.observed)} on "
        parts = (f"{name} {value:.4g}" for name, value in self.details.items())
        return (
            f"With probability {1 - self.delta:.6g}{together}, the {self.name} {self.scope} is at "
            f"most {self._text(self.value)}{verdict} ({self.bound}: "
            f"{', '.join((observed + self.sample, *parts))}). "
            f"Holds for {'; '.join(self.assumptions)}."
        )

    def __str__(self) -> str:
        return self.statement

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON documents."""
        return {
            "name": self.name,
            "value": self.value,
            "uninformative": self.uninformative,
            "statement": self.statement,
            "delta": self.delta,
            "assumptions": list(self.assumptions),
        }

    def _text(self, value: float) -> str:
        return f"{100 * value:.2f} %" if self.percent else f"{value:.4g}"
