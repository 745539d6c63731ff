"""Choosing how the margin game is played: on rows that the frequencies have not seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bochner import engine
from bochner.engine.places import convert, namespace, to_numpy
from bochner.linear.ridge import GrowingRidge
from bochner.linear.squared_hinge import squared_hinge_path
from bochner.margin.players import (
    CorrectiveMargin,
    CorrectiveResidual,
    DataPlayer,
    GradientMargin,
    GradientResidual,
)
from bochner.targets import Target

Float = NDArray[np.float64]
DualUpdate = Literal["corrective", "gradient"]

_STRENGTH_MARGIN, _STRENGTH_RESIDUAL = 100.0, 5000.0
_FACTORS = (1.0, 10.0, 100.0, 1000.0)  # of the strength, for the machine that judges


@dataclass(frozen=True)
class Setting:
    """How a game is played.

    Parameters
    ----------
    dual_update : {"corrective", "gradient"}
        The data player's move.
    band : float or None
        Limit of the search, in units of the kernel's frequencies.
    damping : float
        Share of the way that the data player goes.
    """

    dual_update: DualUpdate
    band: float | None
    damping: float


def grid(target: Target, dual_update: Any, band: Any, damping: Any) -> list[Setting]:
    """The settings to try for what is left to ``"auto"``; the first is the default.

    One thing is changed at a time: the default was the best or close to it on nearly everything
    we measured.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.margin.trials import grid
    >>> from bochner.targets import Target
    >>> grid(Target(np.array([0, 1])), "corrective", None, 0.5)
    [Setting(dual_update='corrective', band=None, damping=0.5)]
    """
    two_classes = target.classes is not None and len(target.classes) == 2
    usual = 0.3 if two_classes else 1.0
    default = Setting(
        "corrective" if dual_update == "auto" else dual_update,
        12.0 if band == "auto" else band,
        damping if damping != "auto" else (0.3 if dual_update == "gradient" else usual),
    )
    settings = [default]
    if band == "auto":
        settings.append(Setting(default.dual_update, 4.0, default.damping))
    if damping == "auto" and default.dual_update == "corrective":
        other = 1.0 if two_classes else 0.3
        settings.append(Setting("corrective", default.band, other))
    if dual_update == "auto":
        settings.append(
            Setting("gradient", default.band, 0.3 if damping == "auto" else float(damping))
        )
    return settings


def columns_of(target: Target, y: Any) -> Float:
    """Signs for two classes, one column a class for more, numbers for regression."""
    if target.classes is None:
        return target.columns_and_signs(y)[0]
    return target.raw_columns(y)


def make_player(
    target: Target, columns: Any, setting: Setting, strength: float | str
) -> DataPlayer:
    """The data player for these columns, beside them."""
    two_classes = target.classes is not None and len(target.classes) == 2
    if setting.dual_update == "gradient":
        if target.classes is None:
            return GradientResidual(columns, step=setting.damping)
        signs = columns if two_classes else 2 * columns - 1
        return GradientMargin(signs, C=1.0, step=setting.damping)
    if two_classes:
        number = _STRENGTH_MARGIN if strength == "auto" else float(strength)
        return CorrectiveMargin(columns, strength=number, damping=setting.damping)
    number = _STRENGTH_RESIDUAL if strength == "auto" else float(strength)
    return CorrectiveResidual(columns, strength=number, damping=setting.damping)


def held_out_losses(
    target: Target,
    frequencies: Any,
    rows: Any,
    columns: Any,
    held_rows: Any,
    held_columns: Any,
    **options: Any,
) -> Float:
    """Loss of every held-out row, with the best of a few machines on the features.

    Squared hinge for two classes, squared error of the columns otherwise.

    Parameters
    ----------
    target : Target
        What the columns are.
    frequencies : array of shape (d, m)
        The features to judge.
    rows, columns : arrays of shape (n, d) and (n, k)
        What the machines learn from.
    held_rows, held_columns : arrays
        What they are judged by.
    **options
        For the engine.

    Returns
    -------
    array of shape (n_held,)
    """
    xp, n = namespace(columns), columns.shape[0]
    features, held = (engine.features(part, frequencies, **options) for part in (rows, held_rows))
    two_classes = target.classes is not None and len(target.classes) == 2
    losses: list[Any] = []
    if two_classes:
        Cs = [_STRENGTH_MARGIN * factor / n for factor in _FACTORS]
        for solution in squared_hinge_path(features, columns, Cs, tol=None, max_steps=6):
            margins = held_columns * (held @ solution.coefficients + solution.intercepts)
            losses.append(xp.sum(xp.maximum(1 - margins, xp.zeros_like(margins)) ** 2, axis=1))
    else:
        ridge = GrowingRidge(columns).append(features)
        for factor in _FACTORS:
            W, b = ridge.solve(n / (2 * _STRENGTH_RESIDUAL * factor))
            residual = held_columns - held @ convert(W, held) - convert(b, held)
            losses.append(xp.sum(residual * residual, axis=1))
    table = np.stack([to_numpy(loss).astype(np.float64) for loss in losses])
    best: Float = table[np.argmin(table.mean(axis=1))]
    return best


def choose(
    settings: list[Setting], losses_of: Callable[[Setting], Float]
) -> tuple[Setting, list[tuple[Setting, float]]]:
    """The setting of least held-out loss, if it is clearly better than the first.

    Another is preferred only where its mean loss is lower by more than one standard error of
    the paired difference: with few rows the default is kept.

    Parameters
    ----------
    settings : list of Setting
        The default first.
    losses_of : callable
        Losses of the same held-out rows, one a row.

    Returns
    -------
    chosen : Setting
    table : list of (Setting, mean loss)
    """
    losses = [losses_of(setting) for setting in settings]
    table = [(setting, float(loss.mean())) for setting, loss in zip(settings, losses, strict=True)]
    best, lowest = 0, 0.0
    for k, loss in enumerate(losses[1:], start=1):
        difference = loss - losses[0]
        error = difference.std() / max(1, len(difference) - 1) ** 0.5
        if difference.mean() < -error and difference.mean() < lowest:
            best, lowest = k, float(difference.mean())
    return settings[best], table
