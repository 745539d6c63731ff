"""The studies that ``bochner reproduce`` knows: the tables and figures of three papers.

Every study says what it measures (`collect`), how a cell is measured, and what is made of the
results (`sections`). Several figures of a paper may be one experiment on different tasks. Times
of small versions are processor seconds, rounded up, measured on a virtual machine with two cores,
with one thread of BLAS or, where that took longer, with as many as it likes. Those of full
versions that say *about* are estimates from single cells.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from bochner.data.download import obtain
from bochner.data.local import PAIRS
from bochner.papers.bullins import measures as bullins_measures
from bochner.papers.bullins import plan as bullins
from bochner.papers.bullins import tables as bullins_tables
from bochner.papers.letarte import measures as letarte_measures
from bochner.papers.letarte import plan as letarte
from bochner.papers.letarte import tables as letarte_tables
from bochner.papers.letarte.measures import AUTHORS, CONVERGED
from bochner.papers.letarte.plan import Run
from bochner.papers.letarte.tables import PUBLISHED
from bochner.papers.mukuta import measures as mukuta_measures
from bochner.papers.mukuta import networks_measures as mukuta_networks_measures
from bochner.papers.mukuta import networks_plan as mukuta_networks
from bochner.papers.mukuta import networks_tables as mukuta_networks_tables
from bochner.papers.mukuta import plan as mukuta
from bochner.papers.mukuta import tables as mukuta_tables
from bochner.records.cells import Cell, Result
from bochner.records.sections import Section, Sections

LETARTE = "Letarte, Morvant, Germain 2019"
BULLINS = "Bullins, Zhang, Zhang 2018"
MUKUTA = "Mukuta, Harada 2016"

# task: the data files that it is made of; a task that is not here needs none
FILES: dict[str, tuple[str, ...]] = {
    "ads": ("internet_ads.npz",),
    "farm": ("farm_ads.npz",),
    **{name: (file,) for name, (file, _, _) in PAIRS.items()},
    **{
        name: (f"{name}.npz",)
        for name in (
            *("adult", "a9a", "ijcnn1", "covtype"),
            *("cpusmall", "cadata", "yearmsd", "cifar10_hog"),
        )
    },
    **{
        name: ("mnist.npz",)
        if name.startswith("mnist")
        else ("cifar10_train.npz", "cifar10_test.npz")
        for plan in mukuta_networks.PLANS.values()
        for name in plan.tasks
    },
}


@dataclass(frozen=True)
class Request:
    """What of a study is wanted."""

    tasks: tuple[str, ...]
    seeds: int
    quick: bool = False


@dataclass(frozen=True)
class Study:
    """One table or figure of a paper.

    Attributes
    ----------
    name, paper, item, summary : str
        What it is called here and there, and what is measured.
    tasks, quick_tasks : tuple of str
        Tasks of the full and of the small version.
    seeds, quick_seeds : int
        How many.
    small : str
        What is smaller in the small version.
    quick_time, full_time : str
        How long they take on two cores.
    collect : callable
        Measures: is given a Request and a function that measures cells which are not on file.
    measure : callable
        Measures one cell.
    sections : callable
        What the results say.
    shown : tuple of str
        The cells' studies whose results `sections` takes; others only make choices.
    on_devices : bool
        Whether `measure` takes a `device` and the `budget` of memory there.
    """

    name: str
    paper: str
    item: str
    summary: str
    tasks: tuple[str, ...]
    seeds: int
    quick_seeds: int
    small: str
    quick_time: str
    full_time: str
    collect: Callable[[Request, Run], list[Result]]
    measure: Callable[..., Result]
    sections: Sections
    shown: tuple[str, ...]
    quick_tasks: tuple[str, ...] = ()
    on_devices: bool = False

    def tasks_of(self, quick: bool) -> tuple[str, ...]:
        """The tasks of the full or of the small version."""
        return (self.quick_tasks or self.tasks) if quick else self.tasks

    def files(self) -> tuple[str, ...]:
        """Data files that it needs, each once."""
        return tuple(dict.fromkeys(file for task in self.tasks for file in FILES.get(task, ())))


_WIDE = "farm"


def _letarte_rows(request: Request, most: int = letarte.MAX_TRAIN) -> dict[str, Any]:
    """Splits, and how many rows to train and to choose gamma on."""
    rows = (500, 500) if request.quick else (most, letarte.GAMMA_MAX_TRAIN)
    return {
        "tasks": request.tasks,
        "seeds": range(request.seeds),
        "max_train": rows[0],
        "gamma_max_train": rows[1],
    }


def _letarte_table1(request: Request, run: Run) -> list[Result]:
    return letarte.table1(run=run, solvers=(AUTHORS, CONVERGED), **_letarte_rows(request))


def _letarte_landmarks(request: Request, run: Run) -> list[Result]:
    percents = (1, 10, 25) if request.quick else letarte.PERCENTS
    rows = _letarte_rows(request, letarte.FIGURES_MAX_TRAIN)
    return letarte.landmarks(run=run, percents=percents, **rows)


def _letarte_greedy(request: Request, run: Run) -> list[Result]:
    return letarte.greedy(
        run=run,
        frequencies=(1, 10, 100, 1000) if request.quick else letarte.FREQUENCIES,
        n_candidates=2000 if request.quick else letarte_measures.N_CANDIDATES,
        **_letarte_rows(request, letarte.FIGURES_MAX_TRAIN),
    )


def _letarte_toys(request: Request, run: Run) -> list[Result]:
    return letarte.toys(request.tasks, range(request.seeds), run)


def _letarte(experiment: str, **values: Any) -> Study:
    collects = {
        "table1": _letarte_table1,
        "landmarks": _letarte_landmarks,
        "greedy": _letarte_greedy,
        "toys": _letarte_toys,
    }
    smalls = {
        "table1": "500 training rows, two splits",
        "landmarks": "500 training rows, 1, 10 and 25 percent of them as landmarks, two splits",
        "greedy": "500 training rows, 2000 candidates, up to 1000 frequencies, two splits",
        "toys": "three draws of the data",
    }
    quick_tasks = tuple(task for task in values["tasks"] if task != _WIDE)
    if _WIDE in values["tasks"]:
        smalls[experiment] += f", without {_WIDE}, whose 54877 columns take minutes"
    return Study(
        paper=LETARTE,
        quick_tasks=quick_tasks,
        seeds={"greedy": 3, "landmarks": 5}.get(experiment, 10),
        quick_seeds=3 if experiment == "toys" else 2,
        small=smalls[experiment],
        collect=collects[experiment],
        measure=letarte_measures.measure,
        sections=letarte_tables.SECTIONS[experiment],
        shown=(experiment,),
        **values,
    )


def _planned(plan: Any, measures: Any, tables: Any, *experiments: str, **values: Any) -> Study:
    """A study whose cells are known beforehand: one experiment, or several side by side.

    `plan`, `measures` and `tables` are the modules that have ``PLANS`` and ``cells``, ``measure``,
    and ``SECTIONS``.
    """

    def collect(request: Request, run: Run) -> list[Result]:
        planned: list[Cell] = []
        for name in experiments:
            # Tasks that are not in the plan, such as files that few have, are asked for by name.
            others = [t for e in experiments if e != name for t in plan.PLANS[e].tasks]
            tasks = [task for task in request.tasks if task not in others]
            if tasks:
                planned += plan.cells(name, tasks, seeds=request.seeds, quick=request.quick)
        return run(planned)

    def sections(results: Sequence[Result]) -> list[Section]:
        found: list[Section] = []
        for name in experiments:
            own = [result for result in results if result.cell.study == name]
            found += tables.SECTIONS[name](own) if own else []
        return found

    defaults: dict[str, Any] = {
        "tasks": tuple(task for name in experiments for task in plan.PLANS[name].tasks),
        "seeds": plan.PLANS[experiments[0]].seeds,
    }
    return Study(
        collect=collect,
        measure=measures.measure,
        sections=sections,
        shown=experiments,
        **{**defaults, **values},
    )


def _bullins(*experiments: str, **values: Any) -> Study:
    modules = (bullins, bullins_measures, bullins_tables)
    return _planned(*modules, *experiments, paper=BULLINS, quick_seeds=1, **values)


def _mukuta(experiment: str, **values: Any) -> Study:
    return _planned(
        mukuta,
        mukuta_measures,
        mukuta_tables,
        experiment,
        paper=MUKUTA,
        quick_seeds=2,
        **{"small": "1000 rows, 40 and 160 columns, two seeds", **values},
    )


def _networks(experiment: str, **values: Any) -> Study:
    plan = mukuta_networks.PLANS[experiment]
    return _planned(
        mukuta_networks,
        mukuta_networks_measures,
        mukuta_networks_tables,
        experiment,
        paper=MUKUTA,
        quick_seeds=1,
        quick_tasks=plan.quick_tasks,
        small=f"{', '.join(plan.quick_tasks)}, {plan.quick_images} images to train, one seed, a "
        "short optimisation",
        on_devices=True,
        **values,
    )


_SEVEN = tuple(PUBLISHED)
# The paper does not say which three are in Figure 3; the others are in Figure 5.
_THREE = ("ads", "breast", "mnist49")

STUDIES: dict[str, Study] = {
    study.name: study
    for study in (
        _letarte(
            "table1",
            name="letarte-table1",
            item="Table 1",
            summary="a kernel machine, and linear ones on similarities to landmarks",
            tasks=_SEVEN,
            quick_time="40 s",
            full_time="about 2 h",
        ),
        _letarte(
            "toys",
            name="letarte-figure1",
            item="Figure 1",
            summary="five landmarks in the plane, plain and learned",
            tasks=("stripes",),
            quick_time="10 s",
            full_time="10 s",
        ),
        _letarte(
            "landmarks",
            name="letarte-figure2",
            item="Figure 2",
            summary="error against the share of the rows that are landmarks",
            tasks=("ads",),
            quick_time="25 s",
            full_time="about 20 min",
        ),
        _letarte(
            "greedy",
            name="letarte-figure3",
            item="Figure 3",
            summary="error against the number of frequencies drawn from a posterior",
            tasks=_THREE,
            quick_time="30 s",
            full_time="about 40 min",
        ),
        _letarte(
            "toys",
            name="letarte-figure4",
            item="Figure 4",
            summary="as Figure 1, other data",
            tasks=("ring",),
            quick_time="10 s",
            full_time="10 s",
        ),
        _letarte(
            "greedy",
            name="letarte-figure5",
            item="Figure 5",
            summary="as Figure 3, the other datasets",
            tasks=tuple(task for task in _SEVEN if task not in _THREE),
            quick_time="35 s",
            full_time="about 2 h",
        ),
        _letarte(
            "landmarks",
            name="letarte-figure6",
            item="Figure 6",
            summary="as Figure 2, the other datasets",
            tasks=tuple(task for task in _SEVEN if task != "ads"),
            quick_time="90 s",
            full_time="about 3 h",
        ),
        _bullins(
            "table1",
            name="bullins-table1",
            item="Table 1",
            summary="learned and random features on eight pairs of classes",
            small="1000 training rows, 100 columns, one seed",
            quick_time="25 s",
            full_time="about 4 h",
        ),
        _bullins(
            "windmill",
            "checkerboard",
            name="bullins-figure1",
            item="Figure 1",
            summary="a windmill in the plane, a checkerboard on the sphere",
            small="1000 training rows, 30 frequencies in the plane, one seed",
            quick_time="40 s",
            full_time="about 20 min",
        ),
        _mukuta(
            "densities",
            name="mukuta-figure1",
            item="Figure 1",
            summary="error of the Gram matrix under three densities",
            small="1000 rows, 40 and 160 columns, mixtures of 16 only, two seeds",
            quick_time="30 s",
            full_time="about 2 h",
        ),
        _mukuta(
            "images",
            name="mukuta-figure2",
            item="Figure 2",
            summary="error of the Gram matrix of images, CIFAR-10 for ImageNet",
            quick_time="10 s",
            full_time="about 2 h",
        ),
        _mukuta(
            "machines",
            name="mukuta-figure3",
            item="Figure 3",
            summary="ridge regression on features",
            tasks=mukuta_measures.NUMBERS,
            quick_time="25 s",
            full_time="about 30 min",
        ),
        _mukuta(
            "machines",
            name="mukuta-figure4",
            item="Figure 4",
            summary="linear support vector machines on features",
            tasks=mukuta_measures.CLASSIFICATION,
            quick_time="15 s",
            full_time="about 3 h",
        ),
        _networks(
            "covariance",
            name="mukuta-figure5",
            item="Figure 5",
            summary="covariance of the features of a convolutional kernel network",
            quick_time="50 s",
            full_time="about 30 min",
        ),
        _networks(
            "maps",
            name="mukuta-figure6",
            item="Figure 6",
            summary="accuracy against the number of maps of the last layer",
            quick_time="40 s",
            full_time="hours",
        ),
        _networks(
            "table2",
            name="mukuta-table2",
            item="Table 2",
            summary="accuracy of convolutional kernel networks",
            quick_time="40 s",
            full_time="hours",
        ),
    )
}


def find_data(
    tasks: Sequence[str], offline: bool, say: Callable[[str], None]
) -> tuple[tuple[str, ...], list[str]]:
    """The tasks whose data is there or can be downloaded, and lines about the others.

    Parameters
    ----------
    tasks : sequence of str
        What is wanted.
    offline : bool
        Whether downloads are forbidden.
    say : callable
        Is given a line before every download.
    """
    reasons: dict[str, str] = {}  # by file: each is tried once
    left_out = []
    found = []
    for task in tasks:
        for file in FILES.get(task, ()):
            if file not in reasons:
                try:
                    obtain(file, offline=offline, say=say)
                    reasons[file] = ""
                except FileNotFoundError as error:
                    reasons[file] = str(error)
        missing = [reasons[file] for file in FILES.get(task, ()) if reasons[file]]
        if missing:
            left_out.append(f"{task}, because {missing[0]}")
        else:
            found.append(task)
    return tuple(found), left_out
