"""The pictures of Figures 1 and 4 of Letarte, Morvant and Germain (2019)."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from bochner.papers.letarte.measures import CONVERGED, SOLVERS, fitted_toy
from bochner.records.cells import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def toy_picture(results: list[Result]) -> Figure:
    """Similarity to each landmark, and the decision of the linear machine, one row a result.

    Parameters
    ----------
    results : list of Result
        Of cells on the same toy data with the same seed: plain and learned landmarks.
    """
    from bochner.plots.landmarks import Similarities, similarity_maps

    rows = []
    for result in results:
        cell = result.cell
        feature_map, split = fitted_toy(cell)
        machine = LinearSVC(C=result.details["C"], random_state=cell.seed, **SOLVERS[CONVERGED])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # as when it was measured
            machine.fit(feature_map.transform(split.X_train), split.y_train)
        error = 100 * (1 - result.score)
        rows.append(Similarities(f"{cell.method}\n{error:.1f} % wrong", feature_map, machine))
    return similarity_maps(rows, split.X_train, split.y_train)
