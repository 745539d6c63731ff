"""Tables of the studies of Mukuta and Harada (2016), and what they claim, checked.

Y. Mukuta and T. Harada, Kernel approximation via empirical orthogonal decomposition for
unsupervised feature learning, CVPR 2016. Their Figures 1 to 4 are pictures without numbers, so
that only their shape can be compared: who is better than whom, and where. Two methods are compared
seed by seed, and a mean difference of at most two standard errors is called noise. Where all seeds
share one test part, there are two: over the seeds, and over tenths of the test part, one a seed,
which has the noise of the test rows in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from bochner.experiments.cells import Result, aligned, mean_and_error
from bochner.experiments.mukuta_measures import (
    LARGEST_TRAINING,
    MERCER,
    NUMBERS,
    NYSTROEM,
    ORTHOGONAL,
    PART,
    RANDOM,
    TEST_SHARE,
)

Groups = dict[tuple[str, str, int], dict[int, Result]]  # task, method, width: by seed

LOW, HIGH = 160, 640  # the widths that claims about few and about many columns speak of
COMPARABLE = 1.5  # what we take "comparable" to mean: at most so many times the error
SIMILAR = 3.0  # and "similar for each distribution": the largest by the smallest
HALF = 0.5


@dataclass
class Claim:
    """A statement about every task and width, and where it does not hold.

    Attributes
    ----------
    text : str
        What is claimed.
    checked : int
        At how many places.
    noise : list of str
        The places where it holds in the mean, but by no more than noise.
    exceptions : list of str
        The places where it fails, with the figures.
    """

    text: str
    checked: int = 0
    noise: list[str] = field(default_factory=list)
    exceptions: list[str] = field(default_factory=list)

    def check(self, holds: bool, place: str, noise: bool = False) -> None:
        """Count a place, and note it if the claim fails there or holds by no more than noise."""
        self.checked += 1
        if not holds:
            self.exceptions.append(place)
        elif noise:
            self.noise.append(place)

    def __str__(self) -> str:
        if not self.checked:
            return f"not checked: {self.text} (nothing to compare)"
        good = self.checked - len(self.exceptions)
        verdict = "not confirmed" if self.exceptions else "confirmed"
        if self.noise and not self.exceptions:
            verdict = "confirmed in the mean"
        notes = [f"{good} of {self.checked}"]
        if self.exceptions:
            notes.append(f"not at {', '.join(self.exceptions)}")
        if self.noise:
            notes.append(f"by no more than noise at {', '.join(self.noise)}")
        return f"{verdict}: {self.text} ({'; '.join(notes)})"


def densities_report(results: Sequence[Result]) -> str:
    """The lines to print about the `densities` study (Figure 1)."""
    groups = grouped(results)
    return "\n".join(
        [
            f"Normalised spectral error of the Gram matrix, {over(results)}",
            *_error_tables(groups),
            "random: independent single cosines, the paper's form; orthogonal: FourierFeatures"
            " with its defaults. weighted M: the paper's mixture of M; mixture M: orthogonalised.",
            *_certificates(groups),
            *map(str, densities_claims(groups)),
        ]
    )


def clusters_report(results: Sequence[Result]) -> str:
    """The lines to print about the `clusters` study (not in the paper)."""
    groups = grouped(results)
    claim = Claim("the orthogonalised mixture of 8 has at most half of Nystroem's error")
    _ratio(claim, groups, "mixture 8", NYSTROEM, HALF)
    return "\n".join(
        [
            f"Eight clusters: normalised spectral error of the Gram matrix, {over(results)}",
            *_error_tables(groups),
            *_certificates(groups),
            str(claim),
        ]
    )


def images_report(results: Sequence[Result]) -> str:
    """The lines to print about the `images` study (Figure 2's protocol)."""
    groups = grouped(results)
    claims = []
    for other in (RANDOM, ORTHOGONAL, NYSTROEM):
        claims.append(Claim(f"{MERCER} has a smaller error than {other}"))
        _order(claims[-1], groups, MERCER, other, sign=-1)
    return "\n".join(
        [
            f"CIFAR-10 HOG: normalised spectral error of the Gram matrix, {over(results)}",
            *_error_tables(groups),
            "A stand-in: the paper has network features of ImageNet, which are not to be had, and"
            " 100000 rows to fit; here 50000 rows of 512 columns, gamma = 1 / the mean squared"
            " distance.",
            *_certificates(groups),
            *map(str, claims),
        ]
    )


def machines_report(results: Sequence[Result]) -> str:
    """The lines to print about the `machines` study (Figures 3 and 4)."""
    groups = grouped(results)
    tasks, methods, widths = _axes(groups)
    rows: list[tuple[str, ...]] = [("task", "columns", *methods)]
    for task in tasks:
        digits = figures if task in NUMBERS else accuracy
        rows += [
            (
                task,
                str(width),
                *(digits(list(groups.get((task, m, width), {}).values())) for m in methods),
            )
            for width in widths
        ]
    return "\n".join(
        [
            f"Test accuracy in percent; mean squared error for {' and '.join(NUMBERS)}; "
            f"{over(results)}",
            aligned(rows),
            f"At most {LARGEST_TRAINING} training rows (covtype has 522910, cut at random); ridge"
            f" 0.01, or the squared hinge with C = 100, without intercept. Test part:"
            f" {', '.join(f'{share:.0%} of {name}' for name, share in TEST_SHARE.items())}, as"
            " published for the others.",
            *map(str, machines_claims(groups)),
        ]
    )


REPORTS: dict[str, Callable[[Sequence[Result]], str]] = {
    "densities": densities_report,
    "clusters": clusters_report,
    "images": images_report,
    "machines": machines_report,
}


def densities_claims(groups: Groups) -> list[Claim]:
    """What the paper says of its Figure 1."""
    tasks, methods, widths = _axes(groups)
    claims = []
    for other in (RANDOM, NYSTROEM):
        claims.append(Claim(f"{MERCER} has a smaller error than {other} at D <= {LOW}"))
        _order(claims[-1], groups, MERCER, other, sign=-1, most=LOW)
    claims.append(Claim(f"{MERCER} has at most {COMPARABLE} times {NYSTROEM}'s at D >= {HIGH}"))
    _ratio(claims[-1], groups, MERCER, NYSTROEM, COMPARABLE, least=HIGH)
    for method in (name for name in methods if name.startswith("weighted")):
        claims.append(Claim(f"{method} has a larger error than {MERCER}"))
        _order(claims[-1], groups, method, MERCER, sign=1)
    claims.append(Claim(f"{RANDOM} errors differ at most {SIMILAR:g} times between densities"))
    for width in widths:
        means = [
            np.mean([_score(r) for r in groups[task, RANDOM, width].values()])
            for task in tasks
            if (task, RANDOM, width) in groups
        ]
        if len(means) > 1:
            factor = max(means) / min(means)
            claims[-1].check(bool(factor <= SIMILAR), f"{width}: {factor:.1f} times")
    return claims


def machines_claims(groups: Groups) -> list[Claim]:
    """What the paper says of its Figures 3 and 4."""
    claims = []
    for other in (RANDOM, ORTHOGONAL):
        claims.append(Claim(f"{MERCER} does better than {other} at D <= {HIGH}"))
        _order(claims[-1], groups, MERCER, other, sign=1, most=HIGH, parts=True)
    for parts, kind in ((False, "seeds"), (True, "seeds and test rows")):
        claims.append(Claim(f"{MERCER} is within noise ({kind}) of {NYSTROEM} or better"))
        _order(claims[-1], groups, MERCER, NYSTROEM, sign=1, or_noise=True, parts=parts)
    return claims


def grouped(results: Sequence[Result]) -> Groups:
    """Results by task, method and width, and by seed within these."""
    groups: Groups = {}
    for result in results:
        cell = result.cell
        assert cell.width is not None
        groups.setdefault((cell.task, cell.method, cell.width), {})[cell.seed] = result
    return groups


def over(results: Sequence[Result]) -> str:
    """How many seeds there are, as text."""
    n = len({result.cell.seed for result in results})
    return f"mean ± standard error over {n} seed{'s' * (n != 1)}"


def small(values: Sequence[float]) -> str:
    """Mean and standard error of numbers of any size, as text.

    Examples
    --------
    >>> from bochner.experiments.mukuta_tables import small
    >>> small([0.0012, 0.0014]), small([4.0e-6]), small([])
    ('0.0013 ± 0.0001', '4e-06', '-')
    """
    if not values:
        return "-"
    mean, error = mean_and_error(values)
    return f"{mean:.3g}" if math.isnan(error) else f"{mean:.3g} ± {error:.1g}"


def accuracy(results: Sequence[Result]) -> str:
    """Accuracies in percent."""
    if not results:
        return "-"
    mean, error = mean_and_error([100 * result.score for result in results])
    return f"{mean:.2f}" if math.isnan(error) else f"{mean:.2f} ± {error:.2f}"


def figures(results: Sequence[Result]) -> str:
    """Mean squared errors."""
    if not results:
        return "-"
    mean, error = mean_and_error([result.details["MSE"] for result in results])
    return f"{mean:.4g}" if math.isnan(error) else f"{mean:.4g} ± {error:.2g}"


def _score(result: Result) -> float:
    return result.score


def _axes(groups: Groups) -> tuple[list[str], list[str], list[int]]:
    tasks, methods, widths = (list(dict.fromkeys(axis)) for axis in zip(*groups, strict=True))
    return tasks, methods, sorted(widths)


def _error_tables(groups: Groups) -> list[str]:
    tasks, methods, widths = _axes(groups)
    lines = []
    for task in tasks:
        rows = [(task, *(f"D = {width}" for width in widths))]
        for method in methods:
            cells = [groups.get((task, method, width), {}) for width in widths]
            rows.append((method, *(small([_score(r) for r in c.values()]) for c in cells)))
        lines.append(aligned(rows))
    return lines


def _certificates(groups: Groups) -> list[str]:
    """Whether any certificate was violated, how loose they are, and how far predictions are."""
    certified = [r for c in groups.values() for r in c.values() if "certified" in r.details]
    if not certified:
        return []
    bad = [str(r.cell) for r in certified if r.score > r.details["certified"] * (1 + 1e-3) + 1e-12]
    loose = np.median([r.details["certified"] / max(r.score, 1e-300) for r in certified])
    line = f"certificates: {len(bad)} of {len(certified)} violated{': ' * bool(bad)}"
    line += f"{'; '.join(bad)}, median bound {loose:.0f} times the error"
    predicted = [r for r in certified if "predicted" in r.details]
    if predicted:
        ratios = [r.details["predicted"] / max(r.details["residual"], 1e-300) for r in predicted]
        line += f"; predicted residuals are {min(ratios):.2f} to {max(ratios):.2f} of those found"
    return [line]


def _order(
    claim: Claim,
    groups: Groups,
    ours: str,
    theirs: str,
    *,
    sign: int,
    most: int | None = None,
    or_noise: bool = False,
    parts: bool = False,
) -> None:
    """Check the sign of the mean difference wherever both were measured.

    With `or_noise` a difference that is only noise will do as well; with `parts` the noise of
    test rows that all seeds share is part of it.
    """
    for (task, method, width), cells in groups.items():
        others = groups.get((task, theirs, width), {})
        seeds = [seed for seed in cells if seed in others]
        if method != ours or not seeds or (most is not None and width > most):
            continue
        mean, error = mean_and_error([_score(cells[s]) - _score(others[s]) for s in seeds])
        if parts and PART in cells[seeds[0]].details:
            tenths = [cells[s].details[PART] - others[s].details[PART] for s in seeds]
            error = mean_and_error(tenths)[1]
        text = f"{task} {width}: {mean:+.2g}"
        text = text if math.isnan(error) else f"{text} ± {error:.1g}"
        noise = not math.isnan(error) and abs(mean) <= 2 * error
        if or_noise:
            claim.check(sign * mean >= 0 or noise, text)
        else:
            claim.check(sign * mean > 0, text, noise)


def _ratio(
    claim: Claim, groups: Groups, ours: str, theirs: str, limit: float, least: int = 0
) -> None:
    """Check that the mean score is at most `limit` times that of the other method."""
    for (task, method, width), cells in groups.items():
        others = groups.get((task, theirs, width), {})
        if method != ours or not others or width < least:
            continue
        means = [np.mean([_score(r) for r in c.values()]) for c in (cells, others)]
        ratio = float(means[0] / means[1])
        claim.check(ratio <= limit, f"{task} {width}: {ratio:.2f} times")
