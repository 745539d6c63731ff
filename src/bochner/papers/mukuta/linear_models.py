"""Figures 3 and 4: ridge regression and linear support vector machines on features.

The score is on the test rows: accuracy, or R2 for regression. If all seeds share one test part,
there are two kinds of noise: over the seeds, and over tenths of the test part, one per seed, which
includes the noise of the test rows.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import Ridge

from bochner.data.local import LocalDataset, load_local, load_regression, load_yearmsd
from bochner.engine.places import cast, on_device, single_dtype, to_numpy
from bochner.engine.rowwise import row_slices
from bochner.linear import solve_squared_hinge
from bochner.linear.scoring import MEASURES, Measure
from bochner.papers.groups import Groups, detail, percent
from bochner.papers.mukuta import gram_error
from bochner.papers.mukuta.feature_maps import (
    MERCER,
    MERCER_MAPS,
    NYSTROEM,
    ORTHOGONAL,
    RANDOM,
    Float,
    make_map,
    timed_fit,
)
from bochner.papers.study import Study, timed_result
from bochner.records.cells import Cell, Result
from bochner.records.sections import Claim, Row, Section, value
from bochner.records.statistics import format_mean, is_noise, mean_and_error
from bochner.records.wording import listed

CLASSES = ("a9a", "ijcnn1", "covtype")
YEARS = "yearmsd"  # its file is large, and not among those that most people have
NUMBERS = ("cpusmall", "cadata", YEARS)
TRAINING = {"covtype": 522910, YEARS: 463715}  # rows of the datasets that are always cut
TEST_SHARE = {"covtype": 0.1, "cpusmall": 0.2, "cadata": 0.2}  # for data without a fixed split

# The density that does best on held-out training rows: the data decide how many Gaussians.
CHOSEN, CANDIDATES = "Mercer, chosen", {MERCER: 1, "mixture 8": 8, "mixture 32": 32}
METHODS = (RANDOM, ORTHOGONAL, NYSTROEM, MERCER, CHOSEN)

PENALTY, RIDGE = 100.0, 0.01  # C of the support vector machine, lambda of the ridge regression
DENSITY_ROWS = {True: 10_000, False: 1000}  # rows to fit Mercer maps to: classes, numbers
PART, PARTS = "part", 10  # of the test rows of a fixed split, one per seed
HELD_OUT = 0.2  # share of the training rows, if something is chosen
CHOOSING_ROWS = 10_000  # rows used for the choice; as many as densities are fitted to
LARGEST_TRAINING = 50_000  # rows; covtype has ten times as many
FEW = 640  # columns up to which the paper claims to be better than random features


def measure(cell: Cell, device: str = "cpu") -> Result:
    """Measure one cell; support vector machines and the features of our maps use the device.

    Ridge regressions, which are quick, stay on the host.
    """
    start = time.perf_counter()
    data = load_rows(cell.task, cell.seed, cell.max_train)
    X, y, X_test, y_test = data.X_train, data.y_train, data.X_test, data.y_test
    assert y_test is not None
    details: dict[str, float] = {}
    method = cell.method
    if method == CHOSEN:
        method = _choose_density(cell, X, y, device)
        details["gaussians"] = CANDIDATES[method]
    predictions, fit = _predictions(method, cell, X, y, X_test, device)
    if cell.task in NUMBERS:
        details["MSE"] = float(np.mean((predictions - y_test) ** 2))
    elif cell.task not in TEST_SHARE:
        # All seeds share these test rows. Ten seeds divide them among themselves: a standard
        # error over such parts includes the noise of the test rows.
        correct = predictions == y_test
        details[PART] = float(correct[cell.seed % PARTS :: PARTS].mean())
    score = _measure_of(cell.task).score(y_test, predictions)
    return timed_result(cell, score, fit, start, details)


def _measure_of(task: str) -> Measure:
    return MEASURES["R2" if task in NUMBERS else "accuracy"]


def _choose_density(cell: Cell, X: NDArray[Any], y: NDArray[Any], device: str) -> str:
    """Return the candidate that does best on the last training rows, which are in random order.

    If there are more than `CHOOSING_ROWS` rows, the first ones are used.
    """
    X, y = X[:CHOOSING_ROWS], y[:CHOOSING_ROWS]
    n = len(y) - round(HELD_OUT * len(y))

    def held_out_score(method: str) -> float:
        predictions, _ = _predictions(method, cell, X[:n], y[:n], X[n:], device)
        return _measure_of(cell.task).score(y[n:], predictions)

    return max(CANDIDATES, key=held_out_score)


def _predictions(
    method: str,
    cell: Cell,
    X: NDArray[Any],
    y: NDArray[Any],
    X_test: NDArray[Any],
    device: str,
    block: int = 5000,
) -> tuple[NDArray[Any], float]:
    """Return the linear model's predictions of test rows, and the seconds of the map's fit."""
    classes = cell.task in CLASSES
    feature_map = make_map(method, cell.width, 1 / (2 * X.shape[1]), cell.seed)
    # The paper estimates densities from few rows. Landmarks come from all rows.
    rows = X[: DENSITY_ROWS[classes]] if method in MERCER_MAPS else X
    fit = timed_fit(feature_map, rows)
    place = device if classes and method != NYSTROEM else "cpu"

    def features(X: NDArray[Any]) -> Any:
        return feature_map.transform(on_device(X, place))

    coefficients = _coefficients(features(X), y, classes, device)
    parts = (to_numpy(features(X_test[part])) for part in row_slices(len(X_test), block))
    decisions = np.concatenate([part @ coefficients for part in parts])
    return np.where(decisions > 0, 1, -1) if classes else decisions, fit


def _coefficients(features: Any, y: NDArray[Any], classes: bool, device: str) -> Float:
    """Fit the linear model on top, which has no intercept in the paper, unlike our own head."""
    if not classes:
        model = Ridge(alpha=RIDGE, fit_intercept=False, solver="cholesky")
        return np.asarray(model.fit(features, y).coef_)
    # The minimiser of LIBLINEAR's default, the squared hinge without a bias, found faster.
    rows = on_device(cast(features, single_dtype(features)), device)
    solution = solve_squared_hinge(rows, y, PENALTY, fit_intercept=False, tol=1e-5)
    return to_numpy(solution.coefficients).astype(np.float64)[:, 0]


@lru_cache(maxsize=1)
def load_rows(task: str, seed: int, max_train: int | None) -> LocalDataset:
    """Return shuffled rows, scaled by the training part to [0, 1], in regression to [-1, 1]."""
    random_state = np.random.RandomState(seed)
    if task == YEARS:
        data = load_yearmsd()
    elif task in NUMBERS:
        data = load_regression(task, test_size=TEST_SHARE[task], random_state=seed)
    else:
        data = load_local(task)
    X, y, X_test, y_test = data.X_train, data.y_train, data.X_test, data.y_test
    order = random_state.permutation(len(y))
    if y_test is None:
        n_test = round(TEST_SHARE[task] * len(y))
        test, order = order[:n_test], order[n_test:]
        X_test, y_test = X[test], y[test]
    order = order[: min(max_train or LARGEST_TRAINING, LARGEST_TRAINING)]
    X, y, X_test = X[order].astype(np.float64), y[order], X_test.astype(np.float64)
    low, high = X.min(axis=0), X.max(axis=0)
    unit = np.where(high > low, high - low, 1)
    X, X_test = (X - low) / unit, (X_test - low) / unit
    if task in NUMBERS:
        X, X_test = 2 * X - 1, 2 * X_test - 1
    return LocalDataset(task, X, y, X_test, y_test)


def sections(results: Sequence[Result]) -> list[Section]:
    """Report accuracies or mean squared errors, a chart per task, and what the paper claims."""
    groups = Groups(results)
    rows: list[Row] = [("task", "columns", *groups.methods)]
    charts = []
    for task in groups.tasks:
        numbers = task in NUMBERS
        of, *forms = (detail("MSE"), ".4g", ".2g") if numbers else (percent, ".2f", ".2f")
        rows += [
            (
                task,
                value(width),
                *(groups.mean(task, m, width, of, *forms) for m in groups.methods),
            )
            for width in groups.xs()
        ]
        title = "mean squared error" if numbers else "accuracy in percent"
        charts.append(Section(task, chart=groups.chart(task, "columns", title, of, log_y=numbers)))
    numbers_only = all(task in NUMBERS for task in groups.tasks)
    measured = "Mean squared error on test rows" if numbers_only else "Test accuracy in percent"
    return [
        Section(f"{measured}, {groups.over()}", tuple(rows), (_protocol(groups.tasks, results),)),
        *charts,
        Section("What the paper claims", claims=tuple(claims(groups))),
    ]


def _protocol(tasks: Sequence[str], results: Sequence[Result]) -> str:
    """Describe training rows, models and test parts in one line."""
    most = max(result.cell.max_train or LARGEST_TRAINING for result in results)
    whole = [f"{name} has {TRAINING[name]}" for name in tasks if TRAINING.get(name, 0) > most]
    cut = f" ({', '.join(whole)})" if whole else ""
    models = [f"ridge {RIDGE:g}"] * any(task in NUMBERS for task in tasks)
    models += [f"the squared hinge with C = {PENALTY:g}"] * any(task in CLASSES for task in tasks)
    parts = [f"{TEST_SHARE[name]:.0%} of {name}" for name in tasks if name in TEST_SHARE]
    fixed = [name for name in tasks if name not in TEST_SHARE]
    looked_at = [name for name in ("ijcnn1", "covtype") if name in tasks]
    seen = (
        f" Its candidates ({', '.join(CANDIDATES)}) were settled after test accuracies of mixtures"
        f" on {listed(looked_at)} had been seen."
        if looked_at
        else ""
    )
    parts += [f"as published for {' and '.join(fixed)}"] if fixed else []
    return (
        f"At most {most} training rows, cut at random{cut}; {', or '.join(models)}, without"
        f" intercept. Test part: {', '.join(parts)}. The density of '{CHOSEN}' is chosen with at"
        f" most {CHOOSING_ROWS} training rows.{seen}"
    )


def claims(groups: Groups) -> list[Claim]:
    """Check what the paper says about its Figures 3 and 4."""
    found = []
    for ours in (method for method in (MERCER, CHOSEN) if method in groups.methods):
        for other in (RANDOM, ORTHOGONAL):
            claim = Claim(f"{ours} does better than {other} at D <= {FEW}")
            for place, mean, error in _differences(groups, ours, other, parts=True, most=FEW):
                claim.check(mean > 0, place, is_noise(mean, error))
            found.append(claim)
        for parts, kind in ((False, "seeds"), (True, "seeds and test rows")):
            claim = Claim(f"{ours} is within noise ({kind}) of {NYSTROEM} or better")
            for place, mean, error in _differences(groups, ours, NYSTROEM, parts):
                claim.check(mean >= 0 or is_noise(mean, error), place)
            found.append(claim)
    return found


def _differences(
    groups: Groups, ours: str, theirs: str, parts: bool, most: float = np.inf
) -> list[tuple[str, float, float]]:
    """Return the places where both were measured, our lead there, and its standard error.

    The text of a place has the difference in the unit of the table. With `parts`, the noise of
    test rows that all seeds share is part of the error.
    """
    found = []
    for task, method, width in groups:
        cells, others = (groups.seeds(task, name, width) for name in (ours, theirs))
        seeds = [seed for seed in cells if seed in others]
        if method != ours or not seeds or width > most:
            continue
        if task in NUMBERS:  # less is better
            sign, before, after = -1, "MSE ", " %"
            squares = [(cells[s].details["MSE"], others[s].details["MSE"]) for s in seeds]
            differences = [100 * (one / other - 1) for one, other in squares]
        else:
            sign, before, after = 1, "", " points"
            differences = groups.differences(task, width, ours, theirs)
        mean, error = mean_and_error(differences)
        if parts and PART in cells[seeds[0]].details:
            tenths = [100 * (cells[s].details[PART] - others[s].details[PART]) for s in seeds]
            error = mean_and_error(tenths)[1]
        text = f"{task} {width}: {before}{format_mean(mean, error, '+.2g', '.1g')}{after}"
        found.append((text, sign * mean, error))
    return found


def _figure(item: str, tasks: tuple[str, ...], **values: Any) -> Study:
    return gram_error.make_study(
        item=item,
        tasks=tasks,
        files={task: (f"{task}.npz",) for task in tasks},
        collect=partial(gram_error.collect, "linear models", methods=METHODS),
        measure=measure,
        sections=sections,
        **values,
    )


FIGURE3 = _figure(
    "Figure 3",
    NUMBERS,
    summary="ridge regression on features",
    full_time="about 15 min",
    quick_time="25 s",
)
FIGURE4 = _figure(
    "Figure 4",
    CLASSES,
    summary="linear support vector machines on features",
    full_time="about 2 h",
    quick_time="15 s",
    on_devices=True,
)
