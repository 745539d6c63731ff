"""Definition of a study: which cells it measures, how, and how it reports the results.

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
    """The part of a study that is wanted; without `widths`, the planned ones."""

    tasks: tuple[str, ...]
    seeds: int
    quick: bool = False
    widths: tuple[int, ...] = ()


@dataclass(frozen=True)
class Version:
    """The size of a version of a study: how many seeds, and how long it takes on two cores.

    `note` says what is smaller in this version, and `tasks` lists its tasks if they are not all.
    """

    seeds: int
    time: str
    note: str = ""
    tasks: tuple[str, ...] = ()


@dataclass(frozen=True)
class LeftOut:
    """A task whose data is missing, with messages for this machine and for others."""

    task: str
    file: str
    reason: str  # names folders

    def __str__(self) -> str:
        return f"Left out: {self.task}, because {self.reason}"

    @property
    def note(self) -> str:
        """The message for readers on other machines."""
        return f"Left out: {self.task}, because {self.file} is not among the data files."


@dataclass(frozen=True, kw_only=True)
class Study:
    """One table or figure of a paper.

    Attributes
    ----------
    paper, item, summary : str
        The paper, the name of the table or figure there, and what is measured.
    tasks : tuple of str
        Tasks that can be measured.
    full, quick : Version
        The whole study, and a small version of it.
    collect : callable
        Function of a Request and a function that measures cells; returns the results that
        `sections` takes. If cells fail, it continues with the others.
    measure : callable
        Function that measures one cell.
    sections : callable
        Function that reports the results as sections; there is at least one result, but any may
        be missing.
    files : mapping
        Data files by task; a task that is not a key needs none.
    widths : str
        Unit of ``--widths``; empty if there is nothing to choose.
    on_devices : bool
        Whether `measure` takes a `device`.
    name : str
        Name of the study; by default the first author and the item: ``letarte-figure1``.
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
        """Return the full or the quick version."""
        return self.quick if quick else self.full

    def tasks_of(self, quick: bool) -> tuple[str, ...]:
        """Return the tasks of the full or of the quick version."""
        return self.version(quick).tasks or self.tasks

    def all_files(self) -> tuple[str, ...]:
        """Return the data files that the study needs, each once."""
        return tuple(
            dict.fromkeys(file for task in self.tasks for file in self.files.get(task, ()))
        )

    def find_data(
        self, tasks: Sequence[str], offline: bool, say: Callable[[str], None]
    ) -> tuple[tuple[str, ...], list[LeftOut]]:
        """Return the tasks whose data is there or can be downloaded, and the others.

        `say` is called with a line before every download; `offline` forbids downloads.
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
    """Return cells for every method at every width, on every task with every seed.

    `columns` are methods with their widths. The settings of a cell are those of its task in
    `by_task`, combined with each of the `variants`; tasks missing from `by_task` are left out.
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
    """Return a result with the seconds since `start`, a time of ``time.perf_counter()``."""
    return Result(cell, score, round(fit, 4), round(time.perf_counter() - start, 2), details)
