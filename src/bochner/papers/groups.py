"""Results of a study by task, method and place on the x axis, from which tables are made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from bochner.records.cells import Result
from bochner.records.sections import Chart, Claim, Series, Value, chart, curve, mean_value
from bochner.records.wording import counted

Number = Callable[[Result], float]


def percent(result: Result) -> float:
    """Return the test accuracy in percent."""
    return 100 * result.score


def error_percent(result: Result) -> float:
    """Return the test error in percent."""
    return 100 * (1 - result.score)


def score(result: Result) -> float:
    """Return the score as it is."""
    return result.score


def fit_seconds(result: Result) -> float:
    """Return the seconds that the map took to learn."""
    return result.fit


def detail(name: str) -> Number:
    """Return a function that reads one of the details of a result."""
    return lambda result: result.details[name]


class Groups:
    """Results of several seeds each, by task, method and place on the x axis.

    `x` is the place of a result, the width of its cell by default. Tasks and methods are in the
    order in which they were measured.
    """

    def __init__(
        self, results: Sequence[Result], x: Callable[[Result], Any] = lambda r: r.cell.width
    ) -> None:
        self._by_key: dict[tuple[str, str, Any], dict[int, Result]] = {}
        for result in results:
            key = (result.cell.task, result.cell.method, x(result))
            self._by_key.setdefault(key, {})[result.cell.seed] = result
        self.tasks = list(dict.fromkeys(task for task, _, _ in self._by_key))
        self.methods = list(dict.fromkeys(method for _, method, _ in self._by_key))
        self.n_seeds = len({result.cell.seed for result in results})
        self._seeds = {
            task: len({r.cell.seed for r in results if r.cell.task == task}) for task in self.tasks
        }

    def __iter__(self) -> Iterator[tuple[str, str, Any]]:
        return iter(self._by_key)

    def xs(self, task: str | None = None, method: str | None = None) -> list[Any]:
        """Return the places on the x axis, in order: all, or those of a task or method."""
        keys = [key for key in self if task in (None, key[0]) and method in (None, key[1])]
        return sorted({x for _, _, x in keys if x is not None})

    def seeds(self, task: str, method: str, x: Any = None) -> dict[int, Result]:
        """Return the results of a place, by seed."""
        return self._by_key.get((task, method, x), {})

    def numbers(self, task: str, method: str, x: Any = None, of: Number = percent) -> list[float]:
        """Return one number per seed."""
        return [of(result) for result in self.seeds(task, method, x).values()]

    def mean(
        self,
        task: str,
        method: str,
        x: Any = None,
        of: Number = percent,
        form: str = ".2f",
        error_form: str | None = None,
    ) -> Value:
        """Return the mean and its standard error, for a table."""
        return mean_value(self.numbers(task, method, x, of), form, error_form)

    def differences(
        self, task: str, x: Any, first: str, second: str, of: Number = percent
    ) -> list[float]:
        """Return the first method's number minus the second's, for the seeds that both have.

        If the second method has no x axis, its results without one are taken.
        """
        ones = self.seeds(task, first, x)
        others = self.seeds(task, second, x) or self.seeds(task, second)
        return [of(ones[seed]) - of(others[seed]) for seed in ones if seed in others]

    def compare(self, text: str, first: str, second: str, of: Number = percent) -> Claim:
        """Check the claim that the first method's number is larger, wherever both have one."""
        claim = Claim(text)
        for task, method, x in self:
            if method == first:
                place = task if x is None else f"{task} {x}"
                claim.compare(self.differences(task, x, first, second, of), place)
        return claim

    def curves(
        self, task: str, of: Number = percent, methods: Sequence[str] = (), suffix: str = ""
    ) -> list[Series | None]:
        """Return one curve per method, over its places on the x axis."""
        return [
            curve(
                method + suffix,
                {x: self.numbers(task, method, x, of) for x in self.xs(task, method)},
            )
            for method in methods or self.methods
        ]

    def chart(
        self, task: str, x_title: str, y_title: str, of: Number = percent, log_y: bool = False
    ) -> Chart | None:
        """Return a chart of the curves of a task against a logarithmic axis."""
        return chart(x_title, y_title, self.curves(task, of), log_x=True, log_y=log_y)

    def heading(self, task: str, what: str = "seed") -> str:
        """Return the task, with its number of seeds if other tasks have more."""
        n = self._seeds[task]
        return task if n == self.n_seeds else f"{task}, {counted(n, what)}"

    def over(self, what: str = "seed") -> str:
        """Return how many seeds there are, as text."""
        return f"mean ± standard error over {counted(self.n_seeds, what)}"
