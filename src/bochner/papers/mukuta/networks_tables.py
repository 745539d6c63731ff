"""Tables of the image studies of Mukuta and Harada (2016), beside the published figures.

The architectures of the paper's settings 1, 2 and 3 are in an appendix that is not at hand. So the
published figures of a data set are shown as a range over its settings, and no architecture of ours
is said to be one of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from bochner.papers.mukuta.networks_measures import (
    COVARIANCE_MAPS,
    MERCER,
    METHODS,
    NYSTROEM,
    OPTIMIZED,
    QUANTILES,
    QUICK_QUANTILE,
    RANDOM,
    dataset_of,
)
from bochner.records.cells import Result, mean_and_error, plus_minus
from bochner.records.sections import Claim, Section, Series, as_reports, chart, curve

# Table 2, in percent: settings 1, 2, 3; columns CKN, Random, Nystrom, Proposed
PUBLISHED_COLUMNS = (OPTIMIZED, RANDOM, NYSTROEM, MERCER)
PUBLISHED: dict[str, tuple[tuple[float, ...], ...]] = {
    "mnist": (
        (99.34, 99.49, 99.38, 99.36),
        (99.28, 99.46, 99.48, 99.43),
        (99.42, 99.45, 99.47, 99.51),
    ),
    "cifar10": (
        (74.59, 75.93, 75.72, 76.00),
        (79.19, 80.73, 81.52, 81.27),
        (77.41, 77.68, 78.57, 78.29),
    ),
}
NAMES = {"mnist": "MNIST", "cifar10": "CIFAR-10"}
TEST_IMAGES = 10_000  # of either; the small version has half as many as it trains on
LEFT_OUT = "Left out: CIFAR-100 and SVHN, whose images are not among the data files."

Groups = dict[tuple[str, str, int | None], dict[int, Result]]  # task, method, width: by seed


def table2(results: Sequence[Result]) -> list[Section]:
    """Accuracy of every approximation in every architecture."""
    groups = _grouped(results)
    rows = [
        ("architecture", "approximation", "accuracy %", "published %", "columns", "fit s",
         "transform s", "quantile", "C")
    ]  # fmt: skip
    for (task, method, _), found in groups.items():
        several = list(found.values())
        rows.append(
            (
                task,
                method,
                plus_minus([100 * result.score for result in several]),
                published_range(dataset_of(task), method),
                f"{several[0].details['columns']:.0f}",
                plus_minus([result.fit for result in several], 1),
                plus_minus([result.details["transform"] for result in several], 1),
                _span([result.details["quantile"] for result in several]),
                _span([result.details["C"] for result in several]),
            )
        )
    small = {result.cell.max_train for result in results} != {None}
    values = (QUICK_QUANTILE,) if small else QUANTILES["table2"]
    quantiles = " or ".join(f"{value:g}" for value in values)
    lines = [
        "Published: the range over the paper's three settings, whose architectures are not known"
        " to us.",
        f"Quantile ({quantiles}) and C are chosen on a sixth of the training images. Transform:"
        " all images.",
        "± is the standard error over seeds, which share the test images: those have a noise of"
        f" {_noise(results)}.",
        LEFT_OUT,
    ]
    if small:
        lines.insert(0, "A small version: few images, not comparable with the published figures.")
    else:
        lines += [str(claim) for claim in claims(groups)]
    return [Section("Table 2: networks with four approximations", tuple(rows), tuple(lines))]


def claims(groups: Groups) -> list[Claim]:
    """What the paper says about Table 2, checked in every architecture."""
    better = Claim("Mercer is more accurate than the optimised map")
    random = Claim("Mercer is more accurate than random features")
    nystroem = Claim("Mercer is comparable with Nystroem (within 0.1 on MNIST, 0.5 on CIFAR-10)")
    quicker = Claim("the optimised map takes longer to fit than Mercer")
    for task in dict.fromkeys(task for task, _, _ in groups):
        for claim, other in ((better, OPTIMIZED), (random, RANDOM)):
            differences = _differences(groups, task, MERCER, other)
            if differences:
                claim.compare(differences, task)
        differences = _differences(groups, task, MERCER, NYSTROEM)
        if differences:
            mean = mean_and_error(differences)[0]
            near = 0.1 if dataset_of(task) == "mnist" else 0.5
            nystroem.check(mean > -near, f"{task}: {mean:+.2f}")
        times = _differences(groups, task, OPTIMIZED, MERCER, lambda result: result.fit)
        if times:
            quicker.compare(times, task)
    return [better, random, nystroem, quicker]


def maps(results: Sequence[Result]) -> list[Section]:
    """Figure 6: accuracy by the number of maps in the last layer."""
    sections = []
    groups = _grouped(results)
    for task in dict.fromkeys(task for task, _, _ in groups):
        widths = sorted({width for name, _, width in groups if name == task and width})
        rows = [("approximation", *(f"{width} maps" for width in widths))]
        curves: list[Series | None] = []
        for method in METHODS:
            scores = {
                width: [100 * result.score for result in groups[task, method, width].values()]
                for width in widths
                if (task, method, width) in groups
            }
            if scores:
                rows.append((method, *(plus_minus(scores.get(width, [])) for width in widths)))
                curves.append(curve(method, scores))
        claim = Claim("with the fewest maps Mercer is more accurate than random features")
        differences = _differences(groups, task, MERCER, RANDOM, width=widths[0])
        if differences:
            claim.compare(differences, f"{widths[0]} maps")
        sections.append(
            Section(
                f"Figure 6: accuracy % with fewer maps, {task}",
                tuple(rows),
                (
                    f"Quantile {QUANTILES['maps'][0]:g}; C as in Table 2. Only a picture is"
                    " published.",
                    str(claim),
                ),
                chart("maps of the last layer", "accuracy %", curves),
            )
        )
    return sections


def covariance(results: Sequence[Result]) -> list[Section]:
    """Figure 5: correlations between the features of the last layer."""
    groups = _grouped(results)
    rows = [("architecture", "approximation", "of patches", "after pooling")]
    claim = Claim("features of Mercer are less correlated than those of the optimised map")
    for (task, method, _), found in groups.items():
        several = list(found.values())
        rows.append(
            (
                task,
                method,
                plus_minus([result.score for result in several], 3),
                plus_minus([result.details["maps"] for result in several], 3),
            )
        )
    for task in dict.fromkeys(task for task, _, _ in groups):
        differences = _differences(groups, task, OPTIMIZED, MERCER, lambda result: result.score)
        if differences:
            claim.compare(differences, task)
    lines = (
        "Root mean square of the correlations between different features, the first"
        f" {COVARIANCE_MAPS} of the last layer: of single patches, for which the eigenfunctions"
        " are made, and of the maps after pooling.",
        str(claim),
    )
    return [Section("Figure 5: how far from diagonal the covariance is", tuple(rows), lines)]


def published_range(dataset: str, method: str) -> str:
    """The published accuracies over the three settings.

    Examples
    --------
    >>> from bochner.papers.mukuta.networks_tables import published_range
    >>> published_range("mnist", "Mercer")
    '99.36 .. 99.51'
    """
    column = PUBLISHED_COLUMNS.index(method)
    figures = [setting[column] for setting in PUBLISHED[dataset]]
    return f"{min(figures):.2f} .. {max(figures):.2f}"


def _grouped(results: Sequence[Result]) -> Groups:
    groups: Groups = {}
    for result in results:
        cell = result.cell
        groups.setdefault((cell.task, cell.method, cell.width), {})[cell.seed] = result
    return groups


def _differences(
    groups: Groups,
    task: str,
    first: str,
    second: str,
    value: Callable[[Result], float] = lambda result: 100 * result.score,
    width: int | None = None,
) -> list[float]:
    """Seed by seed, where both were measured."""
    ones, others = (groups.get((task, method, width), {}) for method in (first, second))
    return [value(ones[seed]) - value(others[seed]) for seed in ones if seed in others]


def _noise(results: Sequence[Result]) -> str:
    """The standard deviation of a mean accuracy over the test images, by data set, in percent.

    Each image is right or wrong: ``sqrt(p (1 - p) / n)``.
    """
    scores: dict[str, list[float]] = {}
    images: dict[str, int] = {}
    for result in results:
        dataset, most = dataset_of(result.cell.task), result.cell.max_train
        scores.setdefault(dataset, []).append(result.score)
        images[dataset] = TEST_IMAGES if most is None else min(most // 2, TEST_IMAGES)
    parts = []
    for dataset, several in scores.items():
        share = mean_and_error(several)[0]
        noise = 100 * math.sqrt(share * (1 - share) / images[dataset])
        parts.append(f"{noise:.1g} on {NAMES[dataset]}")
    return ", ".join(parts)


def _span(values: Sequence[float]) -> str:
    return ", ".join(f"{value:.3g}" for value in dict.fromkeys(values))


SECTIONS = {"table2": table2, "maps": maps, "covariance": covariance}
REPORTS = as_reports(SECTIONS)
