"""Training rows, and the metrics learned from them."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.engine.places import on_device
from bochner.linear.base import LinearHead
from bochner.linear.scoring import Measure
from bochner.models.method import Method
from bochner.models.pipelines import count_classes, make_head, make_metric, unfitted_metric


@dataclass(frozen=True)
class LearnedMetric:
    """A fitted metric and the seconds that its fit took; a metric of None changes nothing."""

    fitted: Any = None
    seconds: float = 0.0

    def __call__(self, X: Any) -> Any:
        """Return rows as the map is to see them."""
        return X if self.fitted is None else self.fitted.transform(X)


NO_METRIC = LearnedMetric()


@dataclass(frozen=True)
class Problem:
    """Prepared training rows, labels, and what is learned from them.

    `seed` is the seed of the map, and decides which rows are held out. `gamma` is given by the
    user; if None, it is chosen among multiples of the default rule. The maps of this package work
    on `device`: ``"cpu"`` for NumPy, otherwise a PyTorch device. `image_shape` is height, width
    and channels, if rows are images. `metric` is the name of a metric that is learned before any
    map, once for all methods that share the problem; None means no metric. Settings found with a
    narrow map on behalf of wider ones are kept in `found`.
    """

    X: Any
    y: NDArray[Any]
    task: str
    measure: Measure
    seed: int = 0
    gamma: float | None = None
    device: Any = "cpu"
    image_shape: tuple[int, int, int] | None = None
    metric: str | None = None
    metrics: dict[bytes, LearnedMetric] = field(init=False, repr=False, default_factory=dict)
    found: dict[Any, dict[str, Any]] = field(init=False, repr=False, default_factory=dict)

    def head(self, *, squares: bool = False) -> LinearHead:
        """Return the unfitted linear model for a map; with `squares`, least squares."""
        n_classes = count_classes(self.y, self.task)
        return make_head(self.task, n_classes, balanced=self.measure.balanced, squares=squares)

    def learn_metric(self, rows: NDArray[np.intp] | None = None) -> LearnedMetric:
        """Learn the metric of some rows, or of all, unless it is known.

        The first metric chooses the mode, if it is not given, for all others: a gamma and a
        penalty that suit one mode need not suit another.
        """
        if self.metric is None:
            return NO_METRIC
        key = b"" if rows is None else rows.tobytes()
        if key not in self.metrics:
            X, y = (self.X, self.y) if rows is None else (self.X[rows], self.y[rows])
            start = time.perf_counter()
            first = next(iter(self.metrics.values()), NO_METRIC).fitted
            if first is None:
                metric = make_metric(self.metric, self.task, self.seed)
            else:
                metric = unfitted_metric(first)
            metric.fit(self.place(X), y)
            self.metrics[key] = LearnedMetric(metric, time.perf_counter() - start)
        return self.metrics[key]

    def rows_for(self, method: Method, X: Any) -> Any:
        """Return rows on the device, except for scikit-learn's own methods."""
        return X if method.baseline else self.place(X)

    def place(self, X: Any) -> Any:
        """Return rows on the device."""
        return on_device(X, self.device)
