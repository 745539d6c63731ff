"""What every guarantee is: a bound with its probability and its conditions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


class ConditionsNotMet(ValueError):
    """There is no guarantee, because one of its conditions does not hold; the text says which.

    Any other ValueError is a wrong argument.
    """


@dataclass(frozen=True)
class Guarantee:
    """An upper bound on a quantity of unseen data, and when it holds.

    Attributes
    ----------
    name : str
        The quantity, such as ``"alignment loss"``.
    value : float
        With probability ``1 - delta`` the quantity is at most this.
    delta : float
        Probability that it may fail, all choices paid for.
    bound : str
        Which bound it is, such as ``"PAC-Bayes-kl"``.
    sample : str
        The rows it was computed from.
    assumptions : tuple of str
        For what it holds.
    observed : float or None
        The same quantity on the sample, where there is one.
    details : mapping from str to float
        What else the value is made of.
    uninformative : float, default=1.0
        The value from which on it says nothing.
    scope : str
        Of what unseen data the quantity is.
    together : int, default=1
        How many such guarantees hold at once with that probability.
    each : bool, default=False
        Whether it is one of several that hold each by itself with that probability.
    percent : bool, default=False
        Whether the statement has the quantity in per cent.

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
        """Whether it says anything."""
        return self.value < self.uninformative

    @property
    def statement(self) -> str:
        """All of it in words."""
        together = f" for all {self.together} at once" if self.together > 1 else ""
        together += " each" * self.each
        nothing = f"{self.uninformative:.4g}"
        if self.percent:
            nothing = f"{100 * self.uninformative:.4g} %"
        verdict = ", which says nothing"
        if self.informative:
            # That a rate is below 1 needs no mention.
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
        """Plain values, for documents in JSON."""
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
