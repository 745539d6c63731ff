"""Tables of the studies of Mukuta and Harada (2016), and what they claim, checked.

Y. Mukuta and T. Harada, Kernel approximation via empirical orthogonal decomposition for
unsupervised feature learning, CVPR 2016. Their Figures 1 to 4 are pictures without numbers, so
that only their shape can be compared: who is better than whom, and where. A claim of an order is
checked seed by seed: the mean of the differences has to be more than two of its standard errors
away from zero to count as better or worse.
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
    exceptions : list of str
        The places where it fails, with the figures.
    """

    text: str
    checked: int = 0
    exceptions: list[str] = field(default_factory=list)

    def check(self, holds: bool, place: str) -> None:
        """Count a place, and note it if the claim fails there."""
        self.checked += 1
        if not holds:
            self.exceptions.append(place)

    def __str__(self) -> str:
        if not self.checked:
            return f"not checked: {self.text} (nothing to compare)"
        if not self.exceptions:
            return f"confirmed: {self.text} ({self.checked} of {self.checked})"
        good = self.checked - len(self.exceptions)
        return (
            f"not confirmed: {self.text} ({good} of {self.checked}; not at "
            f"{'; '.join(self.exceptions)})"
        )


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
        _order(claims[-1], groups, MERCER, other, lambda d, e: d < -e, _score)
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
        _order(claims[-1], groups, MERCER, other, lambda d, e: d < -e, _score, most=LOW)
    claims.append(Claim(f"{MERCER} has at most {COMPARABLE} times {NYSTROEM}'s at D >= {HIGH}"))
    _ratio(claims[-1], groups, MERCER, NYSTROEM, COMPARABLE, least=HIGH)
    for method in (name for name in methods if name.startswith("weighted")):
        claims.append(Claim(f"{method} has a larger error than {MERCER}"))
        _order(claims[-1], groups, method, MERCER, lambda d, e: d > e, _score)
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
        _order(claims[-1], groups, MERCER, other, lambda d, e: d > e, _score, most=HIGH)
    claims.append(Claim(f"{MERCER} is within noise of {NYSTROEM} or better"))
    _order(claims[-1], groups, MERCER, NYSTROEM, lambda d, e: d >= -e, _score)
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
    holds: Callable[[float, float], bool],
    value: Callable[[Result], float],
    most: int | None = None,
) -> None:
    """Check ``holds(difference, two standard errors)`` wherever both were measured."""
    for (task, method, width), cells in groups.items():
        others = groups.get((task, theirs, width), {})
        seeds = [seed for seed in cells if seed in others]
        if method != ours or not seeds or (most is not None and width > most):
            continue
        mean, error = mean_and_error([value(cells[s]) - value(others[s]) for s in seeds])
        margin = 0.0 if math.isnan(error) else 2 * error
        text = f"{task} {width}: {mean:+.2g}"
        claim.check(holds(mean, margin), text if math.isnan(error) else f"{text} ± {error:.1g}")


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
