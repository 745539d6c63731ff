"""The common base of KernelClassifier and KernelRegressor: choosing a model, and predicting."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from bochner.base import CheckedRows
from bochner.engine.places import is_dask, to_numpy
from bochner.engine.rowwise import map_batches, map_rows
from bochner.engine.summaries import rows_at
from bochner.engine.threads import limited_threads
from bochner.guarantees.guarantee import Guarantee
from bochner.linear.kernel_ridge import RidgeEquations
from bochner.linear.splits import fold_rows, hold_out
from bochner.models.averaging import average, averaged
from bochner.models.families import choose_families
from bochner.models.folding import fold_pipeline
from bochner.models.judge import Judge
from bochner.models.limits import count_splits, may_be_exact, search_rows
from bochner.models.methods import Task
from bochner.models.pipelines import METRICS, unfitted_metric
from bochner.models.preparation import prepared_names
from bochner.models.scaling import SCALINGS, Scaling
from bochner.models.settings import HINGE, SQUARES, Labelled, Setting, Tried, one_target
from bochner.models.tables import as_frame, fit_preparation
from bochner.models.tuner import Tuner

# Steps pass arrays to each other, whatever output the user has configured for transformers.
_arrays = partial(config_context, transform_output="default")
FEWEST_ROWS = 5
_BATCH = 2**24  # feature values held at a time in predictions
_SEARCH_SHARE = 0.6  # of a time budget; the rest is for the last fit

Float = NDArray[np.float64]


class KernelModel(CheckedRows):
    """Base class: scaling, metric, map and linear head, all chosen on held-out rows."""

    _task: ClassVar[Task]
    _learned: ClassVar[str] = "pipeline_"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "features": [str, HasMethods(["fit", "transform"])],
        "kernel": [str, HasMethods(["__call__"])],
        "metric": [StrOptions({"auto", *METRICS}), None],
        "scaling": [StrOptions({"auto", *SCALINGS})],
        "penalty": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "time_budget": [None, Interval(Real, 0, None, closed="neither")],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_components: int | Literal["auto"] = "auto",
        *,
        features: Any = "auto",
        kernel: Any = "auto",
        metric: str | None = "auto",
        scaling: Scaling | Literal["auto"] = "auto",
        penalty: float | Literal["auto"] = "auto",
        validation_fraction: float = 0.2,
        time_budget: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.features = features
        self.kernel = kernel
        self.metric = metric
        self.scaling = scaling
        self.penalty = penalty
        self.validation_fraction = validation_fraction
        self.time_budget = time_budget
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _columns(self, y: NDArray[Any]) -> Float:
        """Return the targets as the columns that are fitted."""
        raise NotImplementedError

    def _head(self, C: float) -> Any:
        """Return the unfitted linear model."""
        raise NotImplementedError

    def _certify(self, best: Tried, judge: Judge, n_settings: int) -> Guarantee:
        """Return a guarantee for the models that were fitted without the held-out rows."""
        raise NotImplementedError

    def _fit(self, X: Any, y: NDArray[Any], weights: Float | None) -> Self:
        """Choose and fit a model for rows and targets that have been checked."""
        with limited_threads(self._n_threads()), _arrays():
            return self._choose_and_fit(X, y, weights)

    def _choose_and_fit(self, X: Any, y: NDArray[Any], weights: Float | None) -> Self:
        begun = time.perf_counter()
        if len(y) < FEWEST_ROWS:
            raise ValueError(
                "settings are chosen on some rows and judged by others: at least "
                f"{FEWEST_ROWS} rows are needed, got n_samples = {len(y)}."
            )
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        tuner = self._tuner(X, y, weights, seed, begun)
        best = tuner.run()
        judge, setting = tuner.judge, best.setting
        self.search_results_ = [tried.record for tried in judge.tried]
        self.chosen_ = best.record
        self.importances_ = judge.importances(setting)
        self.columns_ = None if self.preparation_ is None else prepared_names(self.preparation_)
        self.certificate_ = self._certify(best, judge, tuner.n_settings(best))
        if self.preparation_ is not None:
            seen = "medians and categories taken from all rows"
            assumptions = (*self.certificate_.assumptions, seen)
            self.certificate_ = replace(self.certificate_, assumptions=assumptions)
        if setting.loss == SQUARES and len(y) <= search_rows(X):
            # the sums from the search already cover all of the rows
            judge.keep_only(best.settings)
            self.pipeline_ = average([self._model(judge, one, y) for one in best.settings])
        else:
            feature_map, penalty = judge.new_map(setting, len(y)), setting.penalty
            judge.keep_only([])
            if setting.width is None:
                penalty = _same_in_all(penalty, best.n_rows, len(y))
            self.pipeline_ = self._train(
                judge.steps_of(setting), feature_map, X, y, weights, penalty
            )
        self._folded = fold_pipeline(self.pipeline_)
        if self.preparation_ is not None:
            self.pipeline_.steps.insert(0, ("prepare", self.preparation_))
        return self

    def _model(self, judge: Judge, setting: Setting, y: NDArray[Any]) -> Pipeline:
        """Return the model of a tried setting with the held-out rows included."""
        steps, feature_map, equations, alpha = judge.on_all_rows(setting)
        head = self._head(1 / (2 * alpha)).fit_sums(self._of_targets(equations), y)
        return Pipeline([*steps, ("map", feature_map), ("head", head)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _numbers_of(self, X: Any, *, reset: bool) -> Any:
        """Return checked rows of numbers, after fitting the preparation if `reset`."""
        if reset:
            self.__dict__.pop(self._learned, None)
            with _arrays():
                self.preparation_ = fit_preparation(X)
        if self.preparation_ is None:
            return self._validate_rows(X, reset=reset)
        validate_data(self, X, reset=reset, skip_check_array=True)
        with _arrays():
            return self.preparation_.transform(as_frame(X))

    def _tuner(
        self, X: Any, y: NDArray[Any], weights: Float | None, seed: int, begun: float
    ) -> Tuner:
        columns = self._columns(y)

        def part(index: NDArray[np.intp]) -> Labelled:
            given = None if weights is None else weights[index]
            if given is not None and not given.sum() > 0:
                raise ValueError("sample_weight must be positive in the held-out rows and others.")
            return Labelled(rows_at(X, index), y[index], columns[index], given)

        splits = [(part(kept), part(held)) for kept, held in self._splits(X, y, seed)]
        budget = float("inf") if self.time_budget is None else _SEARCH_SHARE * self.time_budget
        return Tuner(
            splits,
            self._task,
            choose_families(self.features, self.kernel),
            width=None if self.n_components == "auto" else self.n_components,
            has_room=may_be_exact(X, len(y), hurried=self.time_budget is not None),
            scalings=SCALINGS if self.scaling == "auto" else (self.scaling,),
            metric=self.metric,
            penalty=None if self.penalty == "auto" else float(self.penalty),
            loss=getattr(self, "loss", SQUARES),  # a parameter of classifiers
            seed=seed,
            n_jobs=self.n_jobs,
            keep_sums=len(y) <= search_rows(X),
            deadline=begun + budget,
            n_total=len(y),
            report=self._report,
        )

    def _splits(self, X: Any, y: NDArray[Any], seed: int) -> list[tuple[Any, Any]]:
        """Return the rows to fit on and those to judge by; few rows are split in several ways."""
        is_class, fraction = self._task == "classification", self.validation_fraction
        n_splits = count_splits(X, fraction)
        if n_splits > 1 and getattr(self, "loss", SQUARES) != HINGE:
            most = max(n_splits, round(1 / fraction))
            return fold_rows(y, seed, most, classes=is_class)[:n_splits]
        most_rows = search_rows(X)
        return [hold_out(y, seed, classes=is_class, fraction=fraction, max_rows=most_rows)]

    def _report(self, tried: Tried) -> None:
        if self.verbose:
            record = {name: value for name, value in tried.record.items() if value is not None}
            values = (
                f"{n} {v:.4g}" if isinstance(v, float) else f"{v}" for n, v in record.items()
            )
            print(f"[{type(self).__name__}] {', '.join(values)}", flush=True)

    def trained_again(self, X: Any, y: Any, blocks: Any = None) -> Pipeline:
        """Fit the chosen setting anew on other rows, without choosing anything again.

        Parameters
        ----------
        X : array-like, sparse matrix or device array of shape (n, n_features)
            Rows, whose columns may differ from those seen in `fit`.
        y : array-like of shape (n,) or (n, k)
            Targets.
        blocks : iterable of tuples, or object with a method ``reduce``, optional
            Blocks of rows and targets, see :meth:`bochner.linear.RidgeClassifier.fit_blocks`: all
            rows that the linear model is fitted to, in one pass. `X` and `y` are then a sample of
            these rows, with all classes, used to fit the scaling, the metric and the map.

        Returns
        -------
        Pipeline
            A fitted pipeline with the steps of ``pipeline_``, which is left unchanged.
        """
        check_is_fitted(self)
        y = np.asarray(y)
        records = [self.chosen_]
        if self.chosen_["averaged_with"] is not None:
            records.append(self.chosen_["averaged_with"])
        members = zip(averaged(self.pipeline_), records, strict=True)
        with _arrays():
            return average([self._again(s, record, X, y, blocks) for s, record in members])

    def _again(
        self,
        fitted: Sequence[tuple[str, Any]],
        record: Mapping[str, Any],
        X: Any,
        y: NDArray[Any],
        blocks: Any,
    ) -> Pipeline:
        """Fit one of the averaged models anew, given its fitted steps and its record."""
        steps, rows = [], X
        for name, step in fitted[:-1]:
            fresh = unfitted_metric(step) if name == "metric" else clone(step)
            steps.append((name, fresh.fit(rows, one_target(y))))
            rows = fresh.transform(rows)
        feature_map = clone(fitted[-1][1])
        if blocks is not None and getattr(feature_map, "expands_rows", False):
            raise ValueError(
                "blocks are for features, and this model has all rows as landmarks: give "
                "n_components."
            )
        if blocks is not None and record["loss"] != SQUARES:
            raise ValueError(f"blocks are for sums of squares: fit with loss={SQUARES!r}.")
        weights, penalty = self._weights(y, None), record["penalty"]
        if record["all_rows"]:
            penalty = _same_in_all(penalty, self.chosen_["n_rows"], len(y))
        return self._train(steps, feature_map, X, y, weights, penalty, blocks)

    def _train(
        self,
        steps: list[tuple[str, Any]],
        feature_map: Any,
        X: Any,
        y: NDArray[Any],
        weights: Float | None,
        penalty: float,
        blocks: Any = None,
    ) -> Pipeline:
        """Fit the map, and the head with a penalty per row, after steps that are fitted."""
        rows = X
        with limited_threads(self._n_threads()), _arrays():
            for _, step in steps:
                rows = step.transform(rows)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # as in the search
                feature_map.fit(rows, y)
            if blocks is None:
                C = _C_of(penalty, float(len(y)) if weights is None else float(weights.sum()))
                head = self._fit_head(feature_map, rows, y, weights, C)
            else:
                features = Pipeline([*steps, ("map", feature_map)]).transform
                head = self._head_of_blocks(blocks, features, y, penalty)
        return Pipeline([*steps, ("map", feature_map), ("head", head)])

    def _fit_head(
        self, feature_map: Any, X: Any, y: NDArray[Any], weights: Float | None, C: float
    ) -> Any:
        """Fit the head to the features of the rows."""
        return self._head(C).fit_map(feature_map, X, y, weights)

    def _head_of_blocks(self, blocks: Any, features: Any, y: NDArray[Any], penalty: float) -> Any:
        """Fit the head to blocks of rows; `y` provides the classes."""
        head, is_class = self._head(1.0), self._task == "classification"
        if is_class:
            head.set_params(class_weight=self.get_params()["class_weight"])
        equations = head.sums(blocks, features, classes=np.unique(y) if is_class else None)
        return head.set_params(C=_C_of(penalty, equations.weight)).fit_sums(equations, y)

    def _of_targets(self, equations: RidgeEquations) -> RidgeEquations:
        """Convert equations for the fitted columns to equations for the targets of the head."""
        return equations

    def _weights(self, y: NDArray[Any], sample_weight: Any) -> Float | None:
        if sample_weight is None:
            return None
        checked: Float = _check_sample_weight(
            to_numpy(sample_weight), y, dtype=np.float64, ensure_non_negative=True
        )
        return checked

    def _values(self, X: Any, method: str) -> Any:
        """Apply a method of the pipeline to rows, a block at a time."""
        check_is_fitted(self)
        X = self._numbers_of(X, reset=False)
        apply = getattr(self._folded, method)
        if is_dask(X):
            example = to_numpy(apply(np.zeros((1, X.shape[1]))))
            width = None if example.ndim == 1 else example.shape[1]
            return map_rows(_on_host, X, width, dtype=example.dtype, meta=example[:0], apply=apply)
        with limited_threads(self._n_threads()), _arrays():
            return map_batches(apply, X, max(1, _BATCH // self.chosen_["n_components"]))


def _same_in_all(penalty: float, n_before: int, n_rows: int) -> float:
    """Return the penalty per row that is in all the same with other rows.

    Where all rows are landmarks, it stands for the variance of the noise.
    """
    return penalty * n_before / n_rows


def _C_of(penalty: float, weight: float) -> float:
    """Return the `C` of a head for a penalty per row."""
    return 1 / (2 * penalty * weight)


def _on_host(X: Any, apply: Any) -> NDArray[Any]:
    return to_numpy(apply(X))
