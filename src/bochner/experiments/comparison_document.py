"""What a comparison found, as one document of plain values: for people, pages and programs."""

from __future__ import annotations

import importlib.metadata
import math
import platform
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
from joblib import cpu_count

from bochner import __version__
from bochner.experiments.cells import Result, mean_and_error
from bochner.experiments.comparison import Setup
from bochner.experiments.comparison_guarantees import balanced_error, error_rate
from bochner.models.pipelines import METHODS
from bochner.models.preparation import preparation_notes

PLAIN = "FourierFeatures"  # what learned maps are compared with in words
_NO_TIME = 0.1  # seconds that nobody minds
_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "pandas", "torch")


def measure_of(setup: Setup) -> dict[str, Any]:
    """Name and unit of what is measured.

    Examples
    --------
    >>> from bochner.datasets.tables import read_table
    >>> from bochner.experiments.comparison import Setup
    >>> from bochner.experiments.comparison_document import measure_of
    >>> measure_of(Setup(read_table("iris"), "balanced-accuracy"))["name"]
    'balanced accuracy'
    """
    unit = "" if setup.measure == "R2" else "%"
    name = setup.measure.replace("-", " ")
    return {"name": name, "unit": unit, "higher_is_better": True}


def summarise(setup: Setup, results: Sequence[Result]) -> list[dict[str, Any]]:
    """A line for each method and width: means over the splits, and what is guaranteed.

    Parameters
    ----------
    setup : Setup
        What was compared.
    results : sequence of Result
        Cells that were measured.
    """
    groups: dict[tuple[str, int | None], list[Result]] = {}
    for result in results:
        groups.setdefault((result.cell.method, result.cell.width), []).append(result)
    order = list(METHODS)
    keys = sorted(groups, key=lambda key: (order.index(key[0]), key[1] or 0))
    first = [result for result in results if result.cell.seed == 0]
    return [_summary(setup, groups[key], len(first)) for key in keys]


def _summary(setup: Setup, group: Sequence[Result], n_certified: int) -> dict[str, Any]:
    cell = group[0].cell
    factor = 1.0 if setup.measure == "R2" else 100.0
    score, error = mean_and_error([factor * result.score for result in group])
    first = next((result for result in group if result.cell.seed == 0), None)
    guarantee = certificate = None
    if first is not None:
        guarantee = first.details["guarantee"]
        errors: Any = first.details["errors"]
        by_class: Any = first.details.get("class_errors")
        if setup.balanced and by_class is not None:
            certificate = balanced_error(by_class, n_certified)
        elif errors is not None:
            certificate = error_rate(errors, int(first.details["n_test"]), n_certified)
    return {
        "method": cell.method,
        "width": cell.width,
        "score": score,
        "standard_error": None if math.isnan(error) else error,
        "seeds": len(group),
        "fit": float(np.mean([result.fit for result in group])),
        "transform": float(np.mean([result.details["transform"] for result in group])),
        "baseline": METHODS[cell.method].baseline,
        "guarantee": guarantee or certificate,
        "certificate": certificate,
        "chosen": _typical([_plain_dict(result.details["chosen"]) for result in group]),
    }


def _plain_dict(value: Any) -> dict[str, Any]:
    return dict(value)


def _typical(chosen: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Of every setting the median, or what came most often."""
    typical: dict[str, Any] = {}
    for name in chosen[0]:
        values = [settings.get(name) for settings in chosen]
        numbers = [value for value in values if isinstance(value, (int, float))]
        if len(numbers) == len(values):
            typical[name] = float(np.median(numbers))
        else:
            typical[name] = Counter(map(repr, values)).most_common(1)[0][0].strip("'")
    return typical


def score_text(summary: Mapping[str, Any], measure: Mapping[str, Any]) -> str:
    """A score with its error and unit.

    Examples
    --------
    >>> from bochner.experiments.comparison_document import score_text
    >>> score_text({"score": 97.25, "standard_error": 0.5}, {"unit": "%"})
    '97.2 ± 0.5 %'
    """
    digits = 1 if measure["unit"] == "%" else 3
    text = f"{summary['score']:.{digits}f}"
    if summary["standard_error"] is not None:
        text += f" ± {summary['standard_error']:.{digits}f}"
    return f"{text} {measure['unit']}".rstrip()


def called(summary: Mapping[str, Any]) -> str:
    """The method with its width, in words.

    Examples
    --------
    >>> from bochner.experiments.comparison_document import called
    >>> called({"method": "Nystroem", "width": 32}), called({"method": "exact", "width": None})
    ('Nystroem with 32 columns', 'the exact machine')
    """
    if summary["width"] is None:
        return "the exact machine"
    return f"{summary['method']} with {summary['width']} columns"


def guess_score(setup: Setup) -> float:
    """The score of a guess that does not look at the rows, in the unit of the measure.

    The largest class for every row; the mean for numbers.

    Examples
    --------
    >>> from bochner.datasets.tables import read_table
    >>> from bochner.experiments.comparison import Setup
    >>> from bochner.experiments.comparison_document import guess_score
    >>> round(guess_score(Setup(read_table("iris"), "accuracy")), 1)
    33.3
    """
    if setup.measure == "R2":
        return 0.0
    _, counts = np.unique(setup.table.y, return_counts=True)
    share = 1 / len(counts) if setup.balanced else counts.max() / counts.sum()
    return float(100 * share)


def counting_rows(setup: Setup, n_test: int) -> float:
    r"""Of how many test rows a share has the noise of the measure.

    All of them; where classes weigh the same, the noise of the mean over :math:`k` classes is that
    of :math:`k^2 / \sum_c n_c^{-1}` rows, with :math:`n_c` test rows in class :math:`c`.

    Examples
    --------
    >>> from bochner.datasets.tables import read_table
    >>> from bochner.experiments.comparison import Setup
    >>> from bochner.experiments.comparison_document import counting_rows
    >>> counting_rows(Setup(read_table("iris"), "accuracy"), 37)
    37.0
    """
    if not setup.balanced:
        return float(n_test)
    _, counts = np.unique(setup.table.y, return_counts=True)
    return float(n_test / len(setup.table.y) * len(counts) ** 2 / np.sum(1 / counts))


def noise_of(
    summary: Mapping[str, Any], measure: Mapping[str, Any], n_test: float
) -> tuple[float, str]:
    """How far a score may be off by chance, one standard error, and what that is, in words.

    Over two or three splits a standard error may come out small by luck, so that a share has at
    least the one that follows from the number of test rows.

    Parameters
    ----------
    summary : dict
        From :func:`summarise`.
    measure : dict
        From :func:`measure_of`.
    n_test : float
        From :func:`counting_rows`.

    Examples
    --------
    >>> from bochner.experiments.comparison_document import noise_of
    >>> noise_of({"score": 50.0, "standard_error": 0.1}, {"unit": "%"}, 100)
    (5.0, "Noise is 5.0 %, the standard error of such a share of a split's test rows.")
    """
    over_splits = summary["standard_error"]
    if measure["unit"] != "%":
        if over_splits is None:
            return 0.0, "One split does not tell the noise."
        return over_splits, f"Noise is {over_splits:.3f}, the standard error over the splits."
    share = min(max(summary["score"] / 100, 0.0), 1.0)
    of_rows = 100 * math.sqrt(share * (1 - share) / n_test)
    if over_splits is not None and over_splits >= of_rows:
        return over_splits, f"Noise is {over_splits:.1f} %, the standard error over the splits."
    return of_rows, (
        f"Noise is {of_rows:.1f} %, the standard error of such a share of a split's test rows."
    )


def recommend(
    summaries: Sequence[Mapping[str, Any]],
    measure: Mapping[str, Any],
    n_test: float,
    guess: float = -math.inf,
    complete: bool = True,
) -> dict[str, Any]:
    """Which line to use, in a sentence, and why.

    The one with the fewest columns among those within the noise of the best; of equally wide ones
    the best that is not much slower than the fastest. The exact machine counts as wider than all.

    Parameters
    ----------
    summaries : sequence of dict
        From :func:`summarise`.
    measure : dict
        From :func:`measure_of`.
    n_test : float
        From :func:`counting_rows`; see :func:`noise_of`.
    guess : float, optional
        From :func:`guess_score`: what is not better by more than its noise is not recommended.
    complete : bool, default=True
        Whether all that was asked for was measured. Where it was not, and one method is all there
        is, nothing is recommended.
    """
    best = max(summaries, key=lambda summary: summary["score"])
    error, noise = noise_of(best, measure, n_test)
    percent = measure["unit"] == "%"
    always = "the largest class" if "balanced" not in measure["name"] else "one class"
    level = f"to say {always} for every row gives {guess:.1f} %"
    if not percent:
        level = f"to say the mean for every row gives {guess:.3f}"
    found = {"method": best["method"], "width": best["width"]}
    came = f"The best, {called(best)}, came to {score_text(best, measure)} {measure['name']}"
    if best["score"] - error <= guess:
        return {
            "sentence": "Nothing that was measured does better than guessing by more than its "
            "noise.",
            "reason": f"{came}; {level}. {noise}",
            **found,
        }
    if not complete and len({summary["method"] for summary in summaries}) == 1:
        known = f"; {level}" if percent and math.isfinite(guess) else ""
        return {
            "sentence": f"Nothing but {best['method']} was measured, so that nothing is "
            "recommended.",
            "reason": f"{came}{known}. {noise}",
            **found,
        }
    good = [summary for summary in summaries if summary["score"] >= best["score"] - error]
    narrowest = min(s["width"] or math.inf for s in good)
    narrow = [s for s in good if (s["width"] or math.inf) == narrowest]
    fastest = min(s["fit"] + s["transform"] for s in narrow)
    fast = [s for s in narrow if s["fit"] + s["transform"] <= max(_NO_TIME, 3 * fastest)]
    chosen = max(fast, key=lambda s: s["score"])
    name = measure["name"]
    sentence = f"Use {called(chosen)}: {score_text(chosen, measure)} {name}."
    if chosen is best:
        reasons = ["It is the best that was measured"]
        others = [summary for summary in good if summary is not best]
        if others and (chosen["width"] is not None):
            reasons[0] += ", and none within the noise of it has fewer columns"
    elif chosen["width"] == best["width"]:
        reasons = [
            f"It is within the noise of the best, {called(best)} "
            f"({score_text(best, measure)}), and much faster"
        ]
    else:
        reasons = [
            f"It has the fewest columns within the noise of the best, {called(best)} "
            f"({score_text(best, measure)})"
        ]
    plain = [s for s in summaries if s["method"] == PLAIN]
    same = next((s for s in plain if s["width"] == chosen["width"]), None)
    if same is not None and chosen["method"] != PLAIN:
        reasons.append(
            f"plain random features ({PLAIN}) of the same width have {score_text(same, measure)}"
        )
        enough = [s for s in plain if s["score"] >= chosen["score"] - error]
        wide = min(enough, key=lambda s: s["width"], default=None)
        if wide is None:
            widest = max(plain, key=lambda s: s["width"])
            if widest is not same:
                reasons.append(
                    f"with {widest['width']} columns they have {score_text(widest, measure)}"
                )
        elif wide is not same:
            reasons.append(f"they need {wide['width']} for as much")
    elif chosen["method"] == PLAIN:
        learned = [s for s in summaries if METHODS[s["method"]].supervised]
        if learned:
            reasons.append("learning the kernel from the labels does not pay here")
    exact = next((s for s in summaries if s["width"] is None), None)
    if exact is not None and exact is not chosen and exact is not best:
        reasons.append(f"the exact machine has {score_text(exact, measure)}")
    if percent and math.isfinite(guess):
        reasons.append(level)
    return {
        "sentence": sentence,
        "reason": f"{'; '.join(reasons)}. {noise}",
        "method": chosen["method"],
        "width": chosen["width"],
    }


def make_document(
    setup: Setup,
    results: Sequence[Result],
    *,
    command: str,
    seconds: float,
    left_out: Sequence[str] = (),
    interrupted: bool = False,
    pictures: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The whole document, of plain values that JSON can hold.

    Parameters
    ----------
    setup : Setup
        What was compared.
    results : sequence of Result
        At least one.
    command : str
        What repeats it.
    seconds : float
        What it took, this time.
    left_out : sequence of str
        What was not measured, and why.
    interrupted : bool, default=False
        Whether cells are missing.
    pictures : mapping, optional
        See :mod:`bochner.experiments.comparison_pictures`.
    """
    table = setup.table
    measure = measure_of(setup)
    summaries = summarise(setup, results)
    factor = 100.0 if measure["unit"] == "%" else 1.0
    n_test = counting_rows(setup, int(results[0].details["n_test"]))
    cells = [
        {
            "method": result.cell.method,
            "width": result.cell.width,
            "seed": result.cell.seed,
            "score": factor * result.score,
            "fit": result.fit,
            "transform": result.details["transform"],
            "seconds": result.seconds,
            "chosen": result.details["chosen"],
            "guarantee": result.details["guarantee"],
        }
        for result in results
    ]
    classes = None
    if table.task == "classification":
        classes = [str(label) for label in np.unique(table.y)]
    document = {
        "kind": "comparison",
        "version": 1,
        "title": f"Kernels compared on {table.name}",
        "command": command,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": seconds,
        "versions": versions(),
        "machine": {"cores": cpu_count(), "device": setup.device},
        "data": {
            "name": table.name,
            "rows": len(table.y),
            "columns": table.X.shape[1],
            "task": table.task,
            "classes": classes,
            "target": table.target,
            "image_shape": table.image_shape,
            "notes": [*table.notes, *preparation_notes(table.X, table.image_shape)],
        },
        "measure": measure,
        "summaries": summaries,
        "cells": cells,
        "recommendation": recommend(
            summaries, measure, n_test, guess_score(setup), complete=not interrupted
        ),
        "left_out": list(left_out),
        "interrupted": interrupted,
        "pictures": dict(pictures or {}),
    }
    plain: dict[str, Any] = _plain(document)
    return plain


def versions() -> dict[str, str]:
    """Versions of what the numbers depend on."""
    found = {"python": platform.python_version(), "bochner": __version__}
    for package in _PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def _plain(value: Any) -> Any:
    """Values that JSON has: no NaN, no infinity, nothing of NumPy."""
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
