"""What a study is: which cells it measures, how, and what it says of the results.

Times of quick versions are processor seconds, rounded up, measured on a virtual machine with two
cores, with one BLAS thread or, where that took longer, with as many as it likes. Times of full
versions that say *about* are estimates from single cells.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bochner.data.download import obtain
from bochner.records.cells import Cell, Result
from bochner.records.sections import Section

# Measures the cells that are not on file; a cell that fails has no result.
Runner = Callable[[Sequence[Cell]], list[Result]]


@dataclass(frozen=True)
class Request:
    """What of a study is wanted; without `widths`, those that are planned."""

    tasks: tuple[str, ...]
    seeds: int
    quick: bool = False
    widths: tuple[int, ...] = ()


@dataclass(frozen=True)
class Version:
    """How large a version of a study is: how many seeds, how long it takes on two cores.

    `note` says what is smaller in it, and `tasks` which are in it, where these are not all.
    """

    seeds: int
    time: str
    note: str = ""
    tasks: tuple[str, ...] = ()


@dataclass(frozen=True)
class LeftOut:
    """A task whose data is missing: in words for this machine, and for others."""

    task: str
    file: str
    reason: str  # names folders

    def __str__(self) -> str:
        return f"Left out: {self.task}, because {self.reason}"

    @property
    def note(self) -> str:
        """What others need to know."""
        return f"Left out: {self.task}, because {self.file} is not among the data files."


@dataclass(frozen=True, kw_only=True)
class Study:
    """One table or figure of a paper.

    Attributes
    ----------
    paper, item, summary : str
        The paper, the name of the table or figure there, and what is measured.
    tasks : tuple of str
        What can be measured.
    full, quick : Version
        The whole study, and a small version of it.
    collect : callable
        Is given a Request and a function that measures cells, and returns the results that
        `sections` takes. Some cells may fail; then it goes on with the others.
    measure : callable
        Measures one cell.
    sections : callable
        What the results say; there is at least one result, but any may be missing.
    files : mapping
        From tasks to the data files that they are made of; a task that is not there needs none.
    widths : str
        What ``--widths`` counts; empty where there is nothing to choose.
    on_devices : bool
        Whether `measure` takes a `device`.
    name : str
        By default the first author and the item: ``letarte-figure1``.
    """

    paper: str
    item: str
    summary: str
    tasks: tuple[str, ...]
    full: Version
    quick: Version
    collect: Callable[[Request, Runner], list[Result]]
    measure: Callable[..., Result]
    sections: Callable[[Sequence[Result]], list[Section]]
    files: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    widths: str = ""
    on_devices: bool = False
    name: str = ""

    def __post_init__(self) -> None:
        name = f"{self.paper.partition(',')[0]}-{self.item.replace(' ', '')}".lower()
        object.__setattr__(self, "name", self.name or name)

    def version(self, quick: bool) -> Version:
        """The full or the quick version."""
        return self.quick if quick else self.full

    def tasks_of(self, quick: bool) -> tuple[str, ...]:
        """The tasks of the full or of the quick version."""
        return self.version(quick).tasks or self.tasks

    def all_files(self) -> tuple[str, ...]:
        """Data files that it needs, each once."""
        return tuple(
            dict.fromkeys(file for task in self.tasks for file in self.files.get(task, ()))
        )

    def find_data(
        self, tasks: Sequence[str], offline: bool, say: Callable[[str], None]
    ) -> tuple[tuple[str, ...], list[LeftOut]]:
        """The tasks whose data is there or can be downloaded, and the others.

        `say` is given a line before every download; `offline` forbids them.
        """
        reasons: dict[str, str] = {}  # why a file is missing; each is tried once
        present, left_out = [], []
        for task in tasks:
            files = self.files.get(task, ())
            for file in files:
                if file not in reasons:
                    try:
                        obtain(file, offline=offline, say=say)
                        reasons[file] = ""
                    except FileNotFoundError as error:
                        reasons[file] = str(error)
            missing = [file for file in files if reasons[file]]
            if missing:
                left_out.append(LeftOut(task, missing[0], reasons[missing[0]]))
            else:
                present.append(task)
        return tuple(present), left_out


def grid(
    experiment: str,
    request: Request,
    columns: Iterable[tuple[str, int | None]],
    max_train: int | None = None,
    by_task: Mapping[str, Mapping[str, Any]] | None = None,
    variants: Sequence[Mapping[str, Any]] = ({},),
) -> list[Cell]:
    """Every method at every width, on every task with every seed.

    `columns` are methods with their widths. Settings of the cells are those `by_task`, where tasks
    that are missing are left out, with each of the `variants`.
    """
    columns = list(columns)
    by_task = {task: {} for task in request.tasks} if by_task is None else by_task
    return [
        Cell(experiment, task, method, width, seed, max_train, tuple(settings.items()))
        for task in request.tasks
        if task in by_task
        for seed in range(request.seeds)
        for settings in ({**by_task[task], **variant} for variant in variants)
        for method, width in columns
    ]


def timed_result(
    cell: Cell, score: float, fit: float, start: float, details: dict[str, Any]
) -> Result:
    """A result with the seconds since `start`, a time of ``time.perf_counter()``."""
    return Result(cell, score, round(fit, 4), round(time.perf_counter() - start, 2), details)
