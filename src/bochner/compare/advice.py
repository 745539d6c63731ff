"""Recommendation of a line of a comparison, with reasons in words."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import Any

import numpy as np

from bochner.compare.plan import Setup
from bochner.models.methods import METHODS
from bochner.records.statistics import format_mean, mean_and_error

_NO_TIME = 10.0  # seconds that nobody minds for a better model
_CHANCE = 0.05  # probability that something is recommended although nothing can be learned
_TIE = 0.5  # standard errors of a difference, which few splits estimate badly
_OVER = {"splits": "the splits", "rows": "the test rows of the split"}  # what an error is over
_SELECTED = (
    " It was selected among {} lines by these test rows, so expect somewhat less on new rows; "
    "another run with other widths uses the same test rows again."
)


def score_text(summary: Mapping[str, Any], measure: Mapping[str, Any]) -> str:
    """Format a score with its error and unit, such as ``97.2 ± 0.5 %``."""
    digits = 1 if measure["unit"] == "%" else 3
    text = format_mean(summary["score"], summary["standard_error"], f".{digits}f")
    return f"{text} {measure['unit']}".rstrip()


def describe(summary: Mapping[str, Any]) -> str:
    """Describe the method with its width."""
    if summary["width"] is None:
        return METHODS[summary["entry"]].called + " after a metric" * bool(summary["metric"])
    return f"{summary['method']} with {summary['width']} columns"


def guess_score(setup: Setup) -> float:
    """Return the score of a guess that does not look at the rows, in the unit of the measure.

    The guess is the largest class for every row, or the mean in regression.
    """
    if not setup.measure.classes:
        return 0.0
    _, counts = np.unique(setup.table.y, return_counts=True)
    share = 1 / len(counts) if setup.measure.balanced else counts.max() / counts.sum()
    return float(100 * share)


def counting_rows(setup: Setup, n_test: int) -> float:
    r"""Return the number of test rows for which a share has the noise of the measure.

    This is all of them; if classes weigh the same, the noise of the mean over :math:`k` classes is
    that of :math:`k^2 / \sum_c n_c^{-1}` rows, with :math:`n_c` test rows in class :math:`c`.
    """
    if not setup.measure.balanced:
        return float(n_test)
    _, counts = np.unique(setup.table.y, return_counts=True)
    return float(n_test / len(setup.table.y) * len(counts) ** 2 / np.sum(1 / counts))


def noise_of(
    summary: Mapping[str, Any], measure: Mapping[str, Any], n_test: float
) -> tuple[float, str]:
    """Return how far a score may be off by chance, one standard error, and its description.

    Over two or three splits a standard error may come out small by luck, so that the error of a
    share is at least the one that follows from the number of test rows, which
    :func:`counting_rows` gives.
    """
    error, over = summary["standard_error"], _OVER[summary.get("error_over") or "splits"]
    if measure["unit"] != "%":
        if error is None:
            return 0.0, "The noise cannot be estimated from one split."
        return error, f"Noise is {error:.3f}, the standard error over {over}."
    of_rows = _error_of_share(summary["score"], n_test)
    if error is not None and error >= of_rows:
        return error, f"Noise is {error:.1f} %, the standard error over {over}."
    return of_rows, (
        f"Noise is {of_rows:.1f} %, the standard error of such a share of a split's test rows."
    )


def _error_of_share(percent: float, n_test: float) -> float:
    share = min(max(percent / 100, 0.0), 1.0)
    return 100 * math.sqrt(share * (1 - share) / n_test)


def lead_needed(
    summary: Mapping[str, Any], measure: Mapping[str, Any], n_test: float, guess: float, lines: int
) -> float:
    r"""Return how far the best of several measured lines must be ahead of a guess.

    At least one of `lines` scores without relation to the target is ahead by that much with a
    probability of about 5 %: :math:`z` standard errors with
    :math:`\Phi(z) = 1 - 0.05 / \mathrm{lines}`. The R2 of predictions without relation to the
    target is about :math:`N(-q, 4 q / n)` for some :math:`q`, which exceeds :math:`z^2 / n` no
    more often, whatever :math:`q` is.
    """
    if not math.isfinite(guess):
        return 0.0
    z = NormalDist().inv_cdf(1 - _CHANCE / lines)
    noise = noise_of(summary, measure, n_test)[0]
    if measure["unit"] != "%":
        return max(z * noise, z**2 / n_test)
    return z * max(noise, _error_of_share(guess, n_test))


def is_tied(
    summary: Mapping[str, Any],
    best: Mapping[str, Any],
    measure: Mapping[str, Any],
    n_test: float,
    overlap: float,
    errors: float = 1.0,
) -> bool:
    """Whether a line is within the noise of the best.

    The noise is this number of standard `errors` of the differences on the splits that both have,
    at most the noise of the best, since a line that varies much is no better for it, and never
    less than one test row. With fewer than two such splits it is the noise of the best.
    """
    lead, error = paired_lead(best, summary, overlap)
    noise = noise_of(best, measure, n_test)[0]
    if summary is best or math.isnan(error):
        return bool(summary["score"] >= best["score"] - noise)
    return lead <= max(min(errors * error, noise), 100 / n_test if measure["unit"] == "%" else 0.0)


def paired_lead(
    one: Mapping[str, Any], other: Mapping[str, Any], overlap: float
) -> tuple[float, float]:
    """Return the lead of a line over another on the splits that both have, and its error.

    Both are NaN if there are fewer than two such splits.
    """
    scores, others = (each.get("scores", {}) for each in (one, other))
    common = [seed for seed in scores if seed in others]
    if len(common) < 2:
        return math.nan, math.nan
    return mean_and_error([scores[seed] - others[seed] for seed in common], overlap)


def still_rising(
    summaries: Sequence[Mapping[str, Any]],
    measure: Mapping[str, Any],
    n_test: float,
    overlap: float = 0.0,
) -> tuple[Mapping[str, Any], Mapping[str, Any]] | None:
    """Return the best map and the next narrower one, if more columns may well be better.

    They may if the best map is the widest of its method, and ahead of the narrower one by more
    than the noise of their difference on the same splits. None if the curve has flattened.
    """
    maps = [s for s in summaries if s["width"] is not None]
    best = max(maps, key=lambda s: s["score"], default=None)
    if best is None:
        return None
    own = sorted((s for s in maps if s["method"] == best["method"]), key=lambda s: s["width"])
    if own[-1] is not best or len(own) < 2 or is_tied(own[-2], best, measure, n_test, overlap):
        return None
    return best, own[-2]


def recommend(
    summaries: Sequence[Mapping[str, Any]],
    measure: Mapping[str, Any],
    n_test: float,
    guess: float = -math.inf,
    complete: bool = True,
    overlap: float = 0.0,
) -> dict[str, Any]:
    """Recommend a line in a sentence, and give the reasons.

    The recommended line is the one with the fewest columns among those tied with the best; among
    equally wide ones, it is the best that is not much slower than the fastest. A line without a
    width counts as wider than all, except for a linear model, which is the narrowest. A line that
    is not ahead of a `guess` by :func:`lead_needed` is not recommended, nor is the only method
    that was measured if the comparison is not `complete`, nor a line that was set aside before the
    last split. `overlap` is the number of test rows per training row.
    """
    lines = len(summaries)
    everything, summaries = summaries, [s for s in summaries if not s.get("set_aside")]
    best = max(summaries, key=lambda summary: summary["score"])
    noise = noise_of(best, measure, n_test)[1]
    level = _guess_text(measure, guess)
    found = {"method": best["method"], "width": best["width"]}
    came = f"The best, {describe(best)}, came to {score_text(best, measure)} {measure['name']}"

    def lead(summary: Mapping[str, Any]) -> float:
        needed = lead_needed(summary, measure, n_test, guess, lines)
        return float(summary["score"] - guess - needed)

    ahead = [summary for summary in summaries if lead(summary) > 0]
    if not ahead:
        needed = lead_needed(best, measure, n_test, guess, lines)
        digits = 1 if measure["unit"] == "%" else 3
        unit = f"{needed:.{digits}f} {measure['unit']}".rstrip()
        return {
            "sentence": "Nothing that was measured does better than guessing by more than its "
            "noise.",
            "reason": f"{came}; {level}. {noise} The best of {lines} would have to be {unit} "
            "ahead of a guess: by chance that happens once in twenty.",
            **found,
        }
    if not complete and len({summary["method"] for summary in everything}) == 1:
        known = f"; {level}" if measure["unit"] == "%" and math.isfinite(guess) else ""
        return {
            "sentence": f"Nothing but {best['method']} was measured, so that nothing is "
            "recommended.",
            "reason": f"{came}{known}. {noise}",
            **found,
        }
    good = [s for s in ahead if is_tied(s, best, measure, n_test, overlap, _TIE)] or [
        max(ahead, key=lead)
    ]
    chosen = _cheapest(good)
    reasons = _reasons(chosen, best, everything, measure, good)
    reasons += _kernel_instead(chosen, summaries, measure)
    rising = still_rising(everything, measure, n_test, overlap)
    if rising is not None:
        wide, narrow = rising
        reasons.append(
            f"{wide['method']} still gets better with the width ({score_text(narrow, measure)} "
            f"with {narrow['width']} columns, {score_text(wide, measure)} with {wide['width']}), "
            f"so that --widths {2 * wide['width']} is worth a try"
        )
    if measure["unit"] == "%" and math.isfinite(guess):
        reasons.append(level)
    if chosen is not best and len(chosen.get("scores", {})) > 1:
        noise += " Ties are by the differences on the same splits."
    not_a_kernel = "" if METHODS[chosen["entry"]].has_kernel else ", not a kernel"
    score = f"{score_text(chosen, measure)} {measure['name']}"
    return {
        "sentence": f"Use {describe(chosen)}{not_a_kernel}: {score}.",
        "reason": f"{'; '.join(reasons)}. {noise}{_SELECTED.format(lines) * (lines > 1)}",
        "method": chosen["method"],
        "width": chosen["width"],
    }


def _guess_text(measure: Mapping[str, Any], guess: float) -> str:
    if measure["unit"] != "%":
        return f"to say the mean for every row gives {guess:.3f}"
    always = "the largest class" if "balanced" not in measure["name"] else "one class"
    return f"to say {always} for every row gives {guess:.1f} %"


def _cheapest(good: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the narrowest line; among equally wide ones, the best of those that are not slow."""
    narrowest = min(map(_size, good))
    narrow = [s for s in good if _size(s) == narrowest]
    fastest = min(s["fit"] + s["transform"] for s in narrow)
    fast = [s for s in narrow if s["fit"] + s["transform"] <= max(_NO_TIME, 3 * fastest)]
    return max(fast, key=lambda s: s["score"])


def _size(summary: Mapping[str, Any]) -> float:
    """Return the width, or infinity without one; 0 for the simplest method."""
    if summary["width"] is not None:
        return float(summary["width"])
    return 0.0 if METHODS[summary["entry"]].simplest else math.inf


def _kernel_instead(
    chosen: Mapping[str, Any], summaries: Sequence[Mapping[str, Any]], measure: Mapping[str, Any]
) -> list[str]:
    """Name the best kernel if none is recommended, and the command that makes it."""
    kernels = [s for s in summaries if METHODS[s["entry"]].has_kernel]
    if METHODS[chosen["entry"]].has_kernel or not kernels:
        return []
    best = max(kernels, key=lambda s: s["score"])
    entry = METHODS[best["entry"]]
    options = "" if entry.only_compared else f" --method {shlex.quote(entry.name)}"
    options += f" --width {best['width']}" if best["width"] else ""
    options += f" --metric {best['metric']}" if best["metric"] else ""
    return [
        f"the best kernel is {describe(best)} ({score_text(best, measure)}), which bochner fit"
        f"{options} makes"
    ]


def _is_plain(summary: Mapping[str, Any]) -> bool:
    """Whether a line is of random features, with nothing learned before them."""
    return METHODS[summary["entry"]].reference and not summary["metric"]


def _reasons(
    chosen: Mapping[str, Any],
    best: Mapping[str, Any],
    summaries: Sequence[Mapping[str, Any]],
    measure: Mapping[str, Any],
    good: Sequence[Mapping[str, Any]],
) -> list[str]:
    """State why a line is recommended over the best, plain features or the exact method."""
    if chosen is best:
        reasons = ["It is the best that was measured"]
        if len(good) > 1 and chosen["width"] is not None:
            reasons[0] += ", and none within the noise of it has fewer columns"
    elif METHODS[chosen["entry"]].simplest:
        reasons = [
            f"It is the simplest within the noise of the best, {describe(best)} "
            f"({score_text(best, measure)})"
        ]
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
        enough = [s for s in plain if s["score"] >= chosen["score"] or s in good]
        wide = min(enough, key=lambda s: s["width"], default=None)
        if wide is None:
            widest = max(plain, key=lambda s: s["width"])
            if widest is not same:
                reasons.append(
                    f"with {widest['width']} columns they have {score_text(widest, measure)}"
                )
        elif wide is not same:
            reasons.append(f"they need {wide['width']} for as much")
    exact = next((s for s in summaries if METHODS[s["entry"]].exact and not s["metric"]), None)
    if exact is not None and exact is not chosen and exact is not best:
        reasons.append(f"the exact kernel method has {score_text(exact, measure)}")
    return reasons
