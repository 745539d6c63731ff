"""Which line of a comparison to use, and why, in words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bochner.compare.plan import Setup
from bochner.models.methods import METHODS
from bochner.records.statistics import format_mean

_NO_TIME = 0.1  # seconds that nobody minds


def score_text(summary: Mapping[str, Any], measure: Mapping[str, Any]) -> str:
    """A score with its error and unit, such as ``97.2 ± 0.5 %``."""
    digits = 1 if measure["unit"] == "%" else 3
    text = format_mean(summary["score"], summary["standard_error"], f".{digits}f")
    return f"{text} {measure['unit']}".rstrip()


def describe(summary: Mapping[str, Any]) -> str:
    """The method with its width, in words."""
    if summary["width"] is None:
        return "the exact kernel method" + " after a metric" * bool(summary["metric"])
    return f"{summary['method']} with {summary['width']} columns"


def guess_score(setup: Setup) -> float:
    """The score of a guess that does not look at the rows, in the unit of the measure.

    The largest class for every row; the mean for numbers.
    """
    if not setup.measure.classes:
        return 0.0
    _, counts = np.unique(setup.table.y, return_counts=True)
    share = 1 / len(counts) if setup.measure.balanced else counts.max() / counts.sum()
    return float(100 * share)


def counting_rows(setup: Setup, n_test: int) -> float:
    r"""Of how many test rows a share has the noise of the measure.

    All of them; where classes weigh the same, the noise of the mean over :math:`k` classes is that
    of :math:`k^2 / \sum_c n_c^{-1}` rows, with :math:`n_c` test rows in class :math:`c`.
    """
    if not setup.measure.balanced:
        return float(n_test)
    _, counts = np.unique(setup.table.y, return_counts=True)
    return float(n_test / len(setup.table.y) * len(counts) ** 2 / np.sum(1 / counts))


def noise_of(
    summary: Mapping[str, Any], measure: Mapping[str, Any], n_test: float
) -> tuple[float, str]:
    """How far a score may be off by chance, one standard error, and what that is, in words.

    Over two or three splits a standard error may come out small by luck, so that a share has at
    least the one that follows from the number of test rows, which :func:`counting_rows` gives.
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
    the best that is not much slower than the fastest. The exact kernel method counts as wider than
    all. What is not better than a `guess` by more than its noise is not recommended, nor is the
    only method that was measured where not all that was asked for is there (`complete`).
    """
    best = max(summaries, key=lambda summary: summary["score"])
    error, noise = noise_of(best, measure, n_test)
    percent = measure["unit"] == "%"
    always = "the largest class" if "balanced" not in measure["name"] else "one class"
    level = f"to say {always} for every row gives {guess:.1f} %"
    if not percent:
        level = f"to say the mean for every row gives {guess:.3f}"
    found = {"method": best["method"], "width": best["width"]}
    came = f"The best, {describe(best)}, came to {score_text(best, measure)} {measure['name']}"
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
    reasons = _reasons(chosen, best, summaries, measure, error)
    if percent and math.isfinite(guess):
        reasons.append(level)
    return {
        "sentence": f"Use {describe(chosen)}: {score_text(chosen, measure)} {measure['name']}.",
        "reason": f"{'; '.join(reasons)}. {noise}",
        "method": chosen["method"],
        "width": chosen["width"],
    }


def _is_plain(summary: Mapping[str, Any]) -> bool:
    """Whether a line is of random features, with nothing learned before them."""
    return METHODS[summary["entry"]].reference and not summary["metric"]


def _reasons(
    chosen: Mapping[str, Any],
    best: Mapping[str, Any],
    summaries: Sequence[Mapping[str, Any]],
    measure: Mapping[str, Any],
    error: float,
) -> list[str]:
    """Why a line is recommended, rather than the best, plain features or the exact method."""
    if chosen is best:
        reasons = ["It is the best that was measured"]
        near = [s for s in summaries if s is not best and s["score"] >= best["score"] - error]
        if near and chosen["width"] is not None:
            reasons[0] += ", and none within the noise of it has fewer columns"
    elif chosen["width"] == best["width"]:
        reasons = [
            f"It is within the noise of the best, {describe(best)} "
            f"({score_text(best, measure)}), and much faster"
        ]
    else:
        reasons = [
            f"It has the fewest columns within the noise of the best, {describe(best)} "
            f"({score_text(best, measure)})"
        ]
    plain = [s for s in summaries if _is_plain(s)]
    same = next((s for s in plain if s["width"] == chosen["width"]), None)
    if _is_plain(chosen):
        learned = [s for s in summaries if s["metric"] or METHODS[s["entry"]].supervised]
        if learned:
            reasons.append("learning the kernel from the labels does not pay here")
    elif same is not None:
        reasons.append(
            f"plain random features ({same['method']}) of the same width have "
            f"{score_text(same, measure)}"
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
    exact = next((s for s in summaries if s["width"] is None and not s["metric"]), None)
    if exact is not None and exact is not chosen and exact is not best:
        reasons.append(f"the exact kernel method has {score_text(exact, measure)}")
    return reasons
