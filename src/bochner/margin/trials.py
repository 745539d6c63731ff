"""Choosing the setting of the margin game on rows that the frequencies have not seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from bochner.engine.places import convert, namespace, to_numpy
from bochner.engine.summaries import rows_at
from bochner.linear.paired import is_clearly_lower
from bochner.linear.ridge import GrowingRidge
from bochner.linear.squared_hinge import squared_hinge_paths
from bochner.margin.looks import Search, longest_frequency, waves_of
from bochner.margin.players import DualUpdate, make_player
from bochner.margin.search import WaveFamily
from bochner.margin.together import play_side_by_side
from bochner.targets import Target

Float = NDArray[np.float64]
Trials = list[tuple["Setting", float]]
Candidate = TypeVar("Candidate")

_STRENGTH_MARGIN, _STRENGTH_RESIDUAL = 100.0, 5000.0
_FACTORS = (1.0, 10.0, 100.0, 1000.0)  # of the strength, for the linear model that judges

_MOST_ROWS, _FEWEST_ROWS = 6000, 80  # on which settings are tried, a quarter of them held out
_MOST_CHAINS = 60
_MOST_FREQUENCIES, _ROUNDS = 50, 10


@dataclass(frozen=True)
class Setting:
    """Setting with which a game is played."""

    dual_update: DualUpdate
    band: float | None  # limit of the search, in units of the kernel's frequencies
    damping: float  # fraction of the way that the data player moves


def grid(target: Target, dual_update: Any, band: Any, damping: Any) -> list[Setting]:
    """Return the settings to try for the parameters that are ``"auto"``; the default comes first.

    One parameter is changed at a time: the default was the best or close to it on nearly
    everything we measured.
    """
    usual, other = (0.3, 1.0) if _has_two_classes(target) else (1.0, 0.3)
    default = Setting(
        "corrective" if dual_update == "auto" else dual_update,
        12.0 if band == "auto" else band,
        damping if damping != "auto" else (0.3 if dual_update == "gradient" else usual),
    )
    settings = [default]
    if band == "auto":
        settings.append(replace(default, band=4.0))
    if damping == "auto" and default.dual_update == "corrective":
        settings.append(replace(default, damping=other))
    if dual_update == "auto":
        step = 0.3 if damping == "auto" else float(damping)
        settings.append(replace(default, dual_update="gradient", damping=step))
    return settings


def usual_strength(target: Target) -> float:
    """Return the default weight of the mean loss in the data player's linear model."""
    return _STRENGTH_MARGIN if _has_two_classes(target) else _STRENGTH_RESIDUAL


def choose_setting(
    settings: list[Setting],
    target: Target,
    rows: Any,
    columns: Any,
    search: Search,
    n_frequencies: int,
    *,
    strength: float,
    random_state: RandomState,
    held: NDArray[np.intp] | None = None,
    **options: Any,
) -> tuple[Setting, Trials, list[Any]]:
    """Return the best of some settings in short games on some of the rows, judged on others.

    The others are the rows `held`, or a quarter of at most 6000. The first setting, the default,
    is taken without a trial if there is nothing to choose, or with fewer than 80 rows. The short
    games have at most 60 chains, even if `search` has more. The frequencies found with the best
    setting are returned too, round by round, for a game to continue from.
    """
    n = int(columns.shape[0])
    if len(settings) == 1 or n < _FEWEST_ROWS:
        return settings[0], [], []
    index = random_state.permutation(n)
    if held is None:
        held, used = np.split(index[:_MOST_ROWS], [min(n, _MOST_ROWS) // 4])
    else:
        used = index[~np.isin(index, held)][: 3 * _MOST_ROWS // 4]
    if target.classes is not None and len(np.unique(to_numpy(columns)[used], axis=0)) < 2:
        return settings[0], [], []
    (X, held_X), (A, held_A) = (
        [rows_at(array, np.sort(part)) for part in (used, held)] for array in (rows, columns)
    )
    seed, m = int(random_state.randint(2**31 - 1)), min(n_frequencies, _MOST_FREQUENCIES)
    n_chains = min(search.n_chains, _MOST_CHAINS)
    search = replace(search, n_chains=n_chains, n_peaks=min(-(-m // _ROUNDS), n_chains))

    longest = longest_frequency(X, held_X)
    families = [
        WaveFamily(
            X,
            replace(search, band=setting.band),
            m,
            random_state=RandomState(seed),
            longest=longest,
            **options,
        )
        for setting in settings
    ]
    how: dict[str, Any] = {"strength": strength, "capacity": 2 * m}
    players = [
        make_player(target, A, setting.dual_update, damping=setting.damping, **how)
        for setting in settings
    ]
    found = play_side_by_side(families, players, m)
    frequencies = [namespace(A).concat(each, axis=1) for each in found]
    parts, small = (X, A, held_X, held_A), longest is not None
    losses = held_out_losses(target, frequencies, *parts, small_phases=small, **options)
    best, table = choose(settings, dict(zip(settings, losses, strict=True)).__getitem__)
    return best, table, found[settings.index(best)]


def held_out_losses(
    target: Target,
    frequencies: Sequence[Any],
    rows: Any,
    columns: Any,
    held_rows: Any,
    held_columns: Any,
    *,
    small_phases: bool = False,
    **options: Any,
) -> list[Float]:
    """Return the losses of all held-out rows, for each of several sets of frequencies.

    They are those of the best of a few linear models on the features. The loss is the squared
    hinge for two classes, and the squared error of the columns otherwise. The host waits for a
    device once.
    """
    xp, n = namespace(columns), columns.shape[0]
    features, held = (
        [
            waves_of(part, W, small_phases=small_phases, scale=int(W.shape[1]) ** -0.5, **options)
            for W in frequencies
        ]
        for part in (rows, held_rows)
    )
    losses: list[Any] = []
    if _has_two_classes(target):
        Cs = [_STRENGTH_MARGIN * factor / n for factor in _FACTORS]
        for each, path in zip(
            held, squared_hinge_paths(features, columns, Cs, n_steps=6), strict=True
        ):
            for solution in path:
                margins = held_columns * (each @ solution.coefficients + solution.intercepts)
                rest = xp.maximum(1 - margins, xp.zeros_like(margins))
                losses.append(xp.sum(rest**2, axis=1))
    else:
        for own, each in zip(features, held, strict=True):
            ridge = GrowingRidge(columns).append(own)
            for factor in _FACTORS:
                W, b = ridge.solve(n / (2 * _STRENGTH_RESIDUAL * factor))
                residual = held_columns - each @ convert(W, each) - convert(b, each)
                losses.append(xp.sum(residual * residual, axis=1))
    table = to_numpy(xp.stack(losses)).astype(np.float64)
    tables = np.reshape(table, (len(features), len(_FACTORS), -1))
    return [each[np.argmin(each.mean(axis=1))] for each in tables]


def choose(
    candidates: list[Candidate], losses_of: Callable[[Candidate], Float]
) -> tuple[Candidate, list[tuple[Candidate, float]]]:
    """Return the candidate of least held-out loss if it is clearly better than the first.

    Another candidate is preferred to the first only if its mean loss is lower by more than one
    standard error of the paired difference: with few rows the default is kept. `losses_of` returns
    the losses of the same held-out rows for every candidate. The mean losses are returned too.
    """
    losses = [losses_of(candidate) for candidate in candidates]
    means = [float(loss.mean()) for loss in losses]
    best = 0
    for k, loss in enumerate(losses):
        if is_clearly_lower(loss, losses[0]) and means[k] < means[best]:
            best = k
    return candidates[best], list(zip(candidates, means, strict=True))


def _has_two_classes(target: Target) -> bool:
    return target.classes is not None and len(target.classes) == 2
