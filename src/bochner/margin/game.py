r"""The game between a kernel player and a data player, round by round.

The kernel player has a family of functions: waves :math:`e^{i \langle w, x \rangle}` of all
frequencies (:mod:`bochner.margin.search`), or functions on the unit sphere
(:mod:`bochner.margin.sphere.families`). In each round it proposes those of largest potential

.. math:: v(\phi) = \sum_k \Bigl| \sum_i A_{ik} \phi(x_i) \Bigr|^2 ,

and the data player (:mod:`bochner.margin.players`) answers by moving the coefficients `A`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bochner.engine.places import is_device, namespace, to_numpy
from bochner.margin.players import DataPlayer

Float = NDArray[np.float64]


@dataclass(frozen=True)
class Proposal:
    """The functions that the kernel player proposes in a round."""

    functions: Any  # in the representation of their family: frequencies, or a position in a list
    n_functions: int
    columns: Any  # their values on the rows: all first parts, then all second parts
    potential: Any  # of the first of them, the best
    share: Any  # that potential as a share of the largest possible one


class Family(Protocol):
    """The functions of a kernel player, for one game."""

    def propose(self, coefficients: Any, n_wanted: int) -> Proposal:
        """Return the best functions against these coefficients, or the best ones found."""


@dataclass
class Record:
    """Record of a game, one number per round."""

    potential: list[Any] = field(default_factory=list)  # of the best function
    share: list[Any] = field(default_factory=list)  # the potential divided by (sum |A|)^2
    value: list[Any] = field(default_factory=list)  # of A in the game against that function
    objective: list[Any] = field(default_factory=list)  # the linear model's optimum, where known
    interrupted: bool = False

    def arrays(self) -> dict[str, Float]:
        return {
            name: _on_host(values)
            for name, values in vars(self).items()
            if isinstance(values, list)
        }


def _on_host(numbers: list[Any]) -> Float:
    """Return the numbers with NaN for None; those on a device are copied at once."""
    known = [number for number in numbers if number is not None]
    if known and is_device(known[0]):
        known = list(to_numpy(namespace(known[0]).stack(known)))
    rest = iter(known)
    return np.array([np.nan if number is None else float(next(rest)) for number in numbers])


def play(
    family: Family,
    player: DataPlayer,
    n_functions: int,
    *,
    least_share: float | None = None,
    after_round: Callable[[list[Any], Record], bool | None] | None = None,
) -> tuple[list[Any], Record]:
    """Play rounds until `n_functions` have been chosen; one chosen again counts again.

    On a device the host does not wait for the result of a round. The game ends before any round
    but the first whose best function has at most `least_share` of the largest possible potential
    (on a device the host would have to wait for it), and after a round for which `after_round`,
    given the functions and the record so far, returns True. A KeyboardInterrupt after the first
    round ends the game and is noted in the record.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.margin.game import play
    >>> from bochner.margin.players import CorrectiveMargin
    >>> from bochner.margin.looks import Search
    >>> from bochner.margin.search import WaveFamily
    >>> X = np.linspace(-9, 9, 500)[:, None]
    >>> player = CorrectiveMargin(np.sign(np.sin(2 * X)), strength=100.0, damping=0.5)
    >>> search = Search(length=1.0, n_peaks=1)
    >>> waves = WaveFamily(X, search, 1, random_state=np.random.RandomState(0))
    >>> (frequencies,), record = play(waves, player, 1)
    >>> np.abs(frequencies).round(1)
    array([[2.]])
    """
    functions: list[Any] = []
    record, n_chosen = Record(), 0
    while n_chosen < n_functions:
        try:
            new = family.propose(player.coefficients, n_functions - n_chosen)
            if functions and least_share is not None and not new.share > least_share:
                break
            value, objective = player.value(new.potential), player.move(new.columns)
        except KeyboardInterrupt:
            if not functions:
                raise
            record.interrupted = True
            break
        functions.append(new.functions)
        record.potential.append(new.potential)
        record.share.append(new.share)
        record.value.append(value)
        record.objective.append(objective)
        n_chosen += new.n_functions
        if after_round is not None and after_round(functions, record):
            break
    return functions, record


def share_of_largest(potential: Any, coefficients: Any) -> Any:
    """Return a potential divided by ``(sum |A|)^2``, the largest for functions of modulus <= 1."""
    xp = namespace(coefficients)
    total = xp.sum(xp.abs(coefficients))
    return potential / xp.where(total > 0, total, xp.ones_like(total)) ** 2
