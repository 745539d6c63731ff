"""The pictures of Figure 1 of Bullins, Zhang and Zhang (2018)."""

from __future__ import annotations

import warnings
from copy import deepcopy
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

import bochner
from bochner.papers.bullins.measures import STUDIES, harmonic_features

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STAGES = (5, 20, 100)  # frequencies of the windmill's game
ROWS = 1000  # that are drawn, and that the game is played with
HARMONICS, SHOWN = 100, 3
RESOLUTION = 80  # points around the sphere, and across the plane


def windmill_picture(task: str, seed: int) -> Figure:
    """Dual weights, potential and decisions at three stages of one game (Figure 1a).

    Parameters
    ----------
    task : str
        Which windmill.
    seed : int
        Of its rows, and of the game.
    """
    from bochner.plots.margin import Panel, rounds_figure

    X, y = _rows("windmill", task, seed)
    game = bochner.MarginFourierFeatures(warm_start=True, random_state=seed)
    panels: list[Panel] = []
    for n_frequencies in STAGES:
        before = game.frequencies_.shape[1] if panels else 0
        game.set_params(n_components=2 * n_frequencies).fit(X, y)
        machine = _machine(game.transform(X), y)
        stage = deepcopy(game)
        panels.append(
            Panel(
                title=f"{n_frequencies} frequencies",
                weights=np.abs(stage.dual_weights_[:, 0]),
                score=partial(_decide, stage, machine),
                frequencies=stage.frequencies_,
                newest=stage.frequencies_[:, before:],
            )
        )
    return rounds_figure(X, y, panels, resolution=RESOLUTION)


def checkerboard_picture(seed: int) -> Figure:
    """The decision on the sphere, and the features that weigh most in it (Figures 1b and 1c).

    Parameters
    ----------
    seed : int
        Of the rows, and of the game.
    """
    from bochner.plots.sphere import harmonic_on_sphere

    X, y = _rows("checkerboard", "sphere", seed)
    learned = harmonic_features(n_components=HARMONICS, random_state=seed).fit(X, y)
    machine = _machine(learned.transform(X), y)
    heaviest = np.argsort(-np.abs(machine.coef_[0]))[:SHOWN]
    functions = [partial(_decide, learned, machine)]
    functions += [partial(_column, learned, int(k)) for k in heaviest]
    titles = ["decision", *(f"feature {k + 1}" for k in range(len(heaviest)))]
    return harmonic_on_sphere(functions, titles=titles, resolution=RESOLUTION)


def _rows(study: str, task: str, seed: int) -> tuple[NDArray[Any], NDArray[Any]]:
    data = STUDIES[study].load(task, seed)
    return data.X_train[:ROWS], data.y_train[:ROWS]


def _machine(features: NDArray[Any], y: NDArray[Any]) -> LinearSVC:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a picture shows no difference
        return LinearSVC(C=100.0, random_state=0).fit(features, y)


def _decide(feature_map: Any, machine: LinearSVC, points: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(machine.decision_function(feature_map.transform(points)))


def _column(feature_map: Any, k: int, points: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(feature_map.transform(points)[:, k])
