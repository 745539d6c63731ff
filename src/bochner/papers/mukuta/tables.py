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

import numpy as np

from bochner.papers.mukuta.measures import (
    CHOSEN,
    CLASSIFICATION,
    LARGEST_TRAINING,
    MERCER,
    NUMBERS,
    NYSTROEM,
    ORTHOGONAL,
    PART,
    RANDOM,
    TEST_SHARE,
)
from bochner.records.cells import Result, mean_and_error
from bochner.records.sections import (
    Chart,
    Claim,
    Row,
    Section,
    Sections,
    as_reports,
    chart,
    curve,
)

Groups = dict[tuple[str, str, int], dict[int, Result]]  # task, method, width: by seed

LOW, HIGH = 160, 640  # the widths that claims about few and about many columns speak of
COMPARABLE = 1.5  # what we take "comparable" to mean: at most so many times the error
SIMILAR = 3.0  # and "similar for each distribution": the largest by the smallest
HALF = 0.5
TRAINING = {"covtype": 522910, "yearmsd": 463715}  # rows, of those that are always cut


def densities_sections(results: Sequence[Result]) -> list[Section]:
    """What the `densities` study says (Figure 1)."""
    groups = grouped(results)
    return [
        Section(
            f"Normalised spectral error of the Gram matrix, {over(results)}",
            lines=(
                "random: independent single cosines, the paper's form; orthogonal: FourierFeatures"
                " with its defaults. weighted M: the paper's mixture of M; mixture M:"
                " orthogonalised.",
            ),
        ),
        *_error_sections(groups),
        _claims_section(densities_claims(groups), _certificates(groups)),
    ]


def clusters_sections(results: Sequence[Result]) -> list[Section]:
    """What the `clusters` study says (not in the paper)."""
    groups = grouped(results)
    claim = Claim("the orthogonalised mixture of 8 has at most half of Nystroem's error")
    _ratio(claim, groups, "mixture 8", NYSTROEM, HALF)
    heading = f"Eight clusters: normalised spectral error of the Gram matrix, {over(results)}"
    return [
        Section(heading, lines=("Not in the paper.",)),
        *_error_sections(groups),
        _claims_section([claim], _certificates(groups), "What we expect"),
    ]


def images_sections(results: Sequence[Result]) -> list[Section]:
    """What the `images` study says (Figure 2's protocol)."""
    groups = grouped(results)
    claims = []
    for other in (RANDOM, ORTHOGONAL, NYSTROEM):
        claims.append(Claim(f"{MERCER} has a smaller error than {other}"))
        _order(claims[-1], groups, MERCER, other, sign=-1)
    return [
        Section(
            f"CIFAR-10 HOG: normalised spectral error of the Gram matrix, {over(results)}",
            lines=(
                "A stand-in: the paper has network features of ImageNet, which are not to be had,"
                " and 100000 rows to fit; here 50000 rows of 512 columns, gamma = 1 / the mean"
                " squared distance.",
            ),
        ),
        *_error_sections(groups),
        _claims_section(claims, _certificates(groups)),
    ]


def machines_sections(results: Sequence[Result]) -> list[Section]:
    """What the `machines` study says (Figures 3 and 4)."""
    groups = grouped(results)
    tasks, methods, widths = _axes(groups)
    rows: list[Row] = [("task", "columns", *methods)]
    charts = []
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
        value = _mean_square if task in NUMBERS else _percent
        title = "mean squared error" if task in NUMBERS else "accuracy in percent"
        charts.append(Section(task, chart=_chart(groups, task, title, value, task in NUMBERS)))
    shares = {name: TEST_SHARE[name] for name in tasks if name in TEST_SHARE}
    fixed = [name for name in tasks if name not in TEST_SHARE]
    parts = [f"{share:.0%} of {name}" for name, share in shares.items()]
    parts += [f"as published for {' and '.join(fixed)}"] if fixed else []
    most = max(result.cell.max_train or LARGEST_TRAINING for result in results)
    whole = [f"{name} has {TRAINING[name]}" for name in tasks if TRAINING.get(name, 0) > most]
    cut = f" ({', '.join(whole)})" if whole else ""
    machines = ["ridge 0.01"] if any(task in NUMBERS for task in tasks) else []
    if any(task not in NUMBERS for task in tasks):
        machines.append("the squared hinge with C = 100")
    return [
        Section(
            f"{_measures(tasks)}, {over(results)}",
            tuple(rows),
            (
                f"At most {most} training rows, cut at random"
                f"{cut}; {', or '.join(machines)}, without"
                f" intercept. Test part: {', '.join(parts)}.",
            ),
        ),
        *charts,
        _claims_section(machines_claims(groups)),
    ]


SECTIONS: dict[str, Sections] = {
    "densities": densities_sections,
    "clusters": clusters_sections,
    "images": images_sections,
    "machines": machines_sections,
}
REPORTS = as_reports(SECTIONS)


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
    for ours in (MERCER, CHOSEN):
        if not any(method == ours for _, method, _ in groups):
            continue
        for other in (RANDOM, ORTHOGONAL):
            claims.append(Claim(f"{ours} does better than {other} at D <= {HIGH}"))
            _order(claims[-1], groups, ours, other, sign=1, most=HIGH, parts=True)
        for parts, kind in ((False, "seeds"), (True, "seeds and test rows")):
            claims.append(Claim(f"{ours} is within noise ({kind}) of {NYSTROEM} or better"))
            _order(claims[-1], groups, ours, NYSTROEM, sign=1, or_noise=True, parts=parts)
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
    >>> from bochner.papers.mukuta.tables import small
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


def _percent(result: Result) -> float:
    return 100 * result.score


def _mean_square(result: Result) -> float:
    return result.details["MSE"]


def _axes(groups: Groups) -> tuple[list[str], list[str], list[int]]:
    tasks, methods, widths = (list(dict.fromkeys(axis)) for axis in zip(*groups, strict=True))
    return tasks, methods, sorted(widths)


def _error_sections(groups: Groups) -> list[Section]:
    tasks, methods, widths = _axes(groups)
    sections = []
    for task in tasks:
        rows: list[Row] = [("method", *(f"D = {width}" for width in widths))]
        for method in methods:
            cells = [groups.get((task, method, width), {}) for width in widths]
            rows.append((method, *(small([_score(r) for r in c.values()]) for c in cells)))
        errors = _chart(groups, task, "spectral error", _score, log_y=True)
        sections.append(Section(task, tuple(rows), chart=errors))
    return sections


def _chart(
    groups: Groups, task: str, title: str, value: Callable[[Result], float], log_y: bool
) -> Chart | None:
    _, methods, widths = _axes(groups)
    series = [
        curve(
            method,
            {w: [value(r) for r in groups.get((task, method, w), {}).values()] for w in widths},
        )
        for method in methods
    ]
    return chart("columns", title, series, log_x=True, log_y=log_y)


def _measures(tasks: Sequence[str]) -> str:
    numbers = [task for task in tasks if task in NUMBERS]
    if not numbers:
        return "Test accuracy in percent"
    if len(numbers) == len(tasks):
        return "Mean squared error on test rows"
    return f"Test accuracy in percent; mean squared error for {' and '.join(numbers)}"


def _claims_section(
    claims: Sequence[Claim], lines: Sequence[str] = (), heading: str = "What the paper claims"
) -> Section:
    return Section(heading, lines=(*lines, *map(str, claims)))


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
    test rows that all seeds share is part of it. What is shown is in the unit of the table.
    """
    for (task, method, width), cells in groups.items():
        others = groups.get((task, theirs, width), {})
        seeds = [seed for seed in cells if seed in others]
        if method != ours or not seeds or (most is not None and width > most):
            continue
        better = sign
        unit = ("", "")
        differences = [_score(cells[s]) - _score(others[s]) for s in seeds]
        if task in NUMBERS:  # less is better
            better, unit = -sign, ("MSE ", " %")
            squares = [(_mean_square(cells[s]), _mean_square(others[s])) for s in seeds]
            differences = [100 * (one / other - 1) for one, other in squares]
        elif task in CLASSIFICATION:
            unit = ("", " points")
            differences = [100 * difference for difference in differences]
        mean, error = mean_and_error(differences)
        if parts and PART in cells[seeds[0]].details:
            tenths = [100 * (cells[s].details[PART] - others[s].details[PART]) for s in seeds]
            error = mean_and_error(tenths)[1]
        shown = f"{mean:+.2g}" if math.isnan(error) else f"{mean:+.2g} ± {error:.1g}"
        text = f"{task} {width}: {unit[0]}{shown}{unit[1]}"
        noise = not math.isnan(error) and abs(mean) <= 2 * error
        if or_noise:
            claim.check(better * mean >= 0 or noise, text)
        else:
            claim.check(better * mean > 0, text, noise)


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
