"""Figures 1b and 1c: fields on the sphere, learned harmonics and kernel SVMs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bochner.data.local import LocalDataset
from bochner.data.toys import checkerboard_sphere
from bochner.margin.sphere.features import MarginHarmonicFeatures
from bochner.papers.bullins import common
from bochner.papers.bullins.common import OURS
from bochner.papers.groups import Groups, detail
from bochner.papers.kernel_svm import Kernel, arccosine_kernel
from bochner.records.cells import Cell, Result
from bochner.records.sections import Row, Section, Value

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TASKS = ("sphere",)
RBF_SVM, ARCCOSINE_SVM = "RBF SVM", "arc-cosine SVM"
# Accuracy in percent, and harmonics; 2000 rows to train and 50000 to test.
PUBLISHED: dict[str, tuple[Value, str | Value]] = {
    OURS: (Value("99.1", 99.1), Value("29", 29)),
    ARCCOSINE_SVM: (Value("95.1", 95.1), ""),
}
PENALTIES = tuple(float(10.0**k) for k in range(-1, 6))  # C of the kernel SVMs
HARMONICS, SHOWN = 100, 3
PAPERS_GAME = partial(MarginHarmonicFeatures, stop=None)


def _load(task: str, seed: int) -> LocalDataset:
    return common.draw_rows(task, checkerboard_sphere, seed)


EXPERIMENT = common.Experiment(
    name="checkerboard",
    load=_load,
    make_map=PAPERS_GAME,
    multiples=common.NARROW_MULTIPLES,
    widths=(HARMONICS,),
    kernel_svms=(ARCCOSINE_SVM, RBF_SVM),
    folds=5,
    count_columns=True,
)


def measure(cell: Cell) -> Result:
    """Measure one cell."""
    if cell.method == RBF_SVM:
        multiples = common.NARROW_MULTIPLES
        return common.measure_gaussian_svm(EXPERIMENT, cell, multiples, PENALTIES)
    if cell.method == ARCCOSINE_SVM:
        kernels: dict[float, Kernel] = {1.0: lambda gram: gram}
        return common.measure_svm(EXPERIMENT, cell, arccosine_kernel, kernels, PENALTIES)
    return common.measure_features(EXPERIMENT, cell)


def sections(results: Sequence[Result]) -> list[Section]:
    """Report the accuracies, and a picture of what was learned."""
    groups = Groups(results)
    rows: list[Row] = [("method", "accuracy", "harmonics", "fit s", "paper", "paper's harmonics")]
    for key in groups:
        method, accuracy, seconds = key[1], groups.mean(*key), common.fit_value(groups, *key)
        harmonics = groups.mean(*key, detail("columns"), ".1f") if method == OURS else ""
        rows.append((method, accuracy, harmonics, seconds, *PUBLISHED.get(method, ("", ""))))
    others = {
        ARCCOSINE_SVM: "the arc-cosine SVM",
        RBF_SVM: "a tuned Gaussian SVM (not in the paper)",
    }
    claims = tuple(
        groups.compare(f"learned harmonics do better than {text}", OURS, other)
        for other, text in others.items()
    )
    over = common.over(groups, results)
    return [
        Section(
            f"Checkerboard on the sphere: test accuracy in percent, {over}",
            tuple(rows),
            (
                "harmonics: distinct ones, one column each. Kernel SVMs: C, and gamma of the"
                " RBF, chosen on held-out rows; their fit includes the choice.",
            ),
            claims=claims,
        ),
        Section(
            "checkerboard: the decision, and the features that weigh most in it",
            picture=partial(picture, results[0].cell.seed),
        ),
    ]


def picture(seed: int) -> Figure:
    """Draw the decision on the sphere, and the features that weigh most in it."""
    from bochner.plots.sphere import harmonic_on_sphere

    data = EXPERIMENT.load(TASKS[0], seed)
    X, y = data.X_train[: common.PICTURE_ROWS], data.y_train[: common.PICTURE_ROWS]
    learned = PAPERS_GAME(n_components=HARMONICS, random_state=seed).fit(X, y)
    model = common.picture_model(learned.transform(X), y)
    heaviest = np.argsort(-np.abs(model.coef_[0]))[:SHOWN]
    functions = [partial(common.decide, learned, model)]
    functions += [partial(_column, learned, int(k)) for k in heaviest]
    titles = ["decision", *(f"feature {k + 1}" for k in range(len(heaviest)))]
    return harmonic_on_sphere(functions, titles=titles, resolution=common.RESOLUTION)


def _column(feature_map: Any, k: int, points: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(feature_map.transform(points)[:, k])
