"""The mean of two kernel models, as one pipeline."""

import pickle
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline

from bochner import FourierFeatures, KernelClassifier, KernelRegressor, NystroemFeatures
from bochner.cli.kernel_choice import choice_lines
from bochner.data.tables import Table
from bochner.linear import RidgeClassifier, RidgeRegressor
from bochner.models import limits, tuner
from bochner.models.averaging import JoinedMaps, average, averaged
from bochner.models.files import load_model, save_model
from bochner.models.onnx.pipelines import to_onnx
from bochner.models.scaling import ColumnScaler
from bochner.models.schema import Schema
from bochner.models.settings import Tried
from bochner.models.training import train_kernel_model
from bochner.models.tuner import Tuner
from tests.linear.naive import kernel_ridge
from tests.places import PLACES, on_host

IRIS = load_iris(return_X_y=True)


def pipelines():
    return [
        make_pipeline(ColumnScaler("robust"), FourierFeatures(n_components=8, random_state=0)),
        make_pipeline(
            ColumnScaler("standard"), NystroemFeatures(5, kernel="laplacian", random_state=0)
        ),
    ]


def table(n=300, seed=0):
    """Steps along one axis and waves along a diagonal: two kernels know more than one."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 4))
    y = np.floor(2 * X[:, 0]) + np.sin(2 * (X[:, 1] + X[:, 2])) + 0.2 * rng.normal(size=n)
    return X, y


class TestJoinedMaps:
    @pytest.mark.parametrize("place", ["numpy", "torch", "strict", "dask"])
    def test_columns_of_both(self, place):
        X = IRIS[0]
        joined = JoinedMaps(pipelines()).fit(X)
        expected = np.hstack([one.fit_transform(X) for one in pipelines()])
        there = PLACES[place](X)
        np.testing.assert_allclose(on_host(joined.transform(there)), expected, atol=1e-12)
        coefficients = np.random.default_rng(0).normal(size=(13, 2))
        values = on_host(joined.linear(there, coefficients))
        np.testing.assert_allclose(values, expected @ coefficients, rtol=1e-9, atol=1e-12)

    def test_it_is_an_estimator(self):
        X = IRIS[0]
        joined = JoinedMaps(pipelines())
        assert not hasattr(clone(joined), "pipelines_")
        with pytest.raises(ValueError, match="not fitted"):
            joined.transform(X)
        copy = pickle.loads(pickle.dumps(joined.fit(X)))
        np.testing.assert_array_equal(copy.transform(X), joined.transform(X))
        assert len(joined.get_feature_names_out()) == 13
        with pytest.raises(ValueError, match="3 features"):
            joined.transform(X[:, :3])


@pytest.mark.parametrize("outputs", [1, 2])
def test_mean_of_numbers(outputs):
    X = IRIS[0]
    y = X[:, 0] if outputs == 1 else X[:, :2]
    models = [make_pipeline(*one, RidgeRegressor()).fit(X, y) for one in pipelines()]
    both = average(models)
    expected = np.mean([model.predict(X) for model in models], axis=0)
    np.testing.assert_allclose(both.predict(X), expected, rtol=1e-9)
    assert average(models[:1]) is models[0]
    assert [len(steps) for steps in averaged(both)] == [2, 2]
    assert averaged(models[0]) == [models[0].steps[:-1]]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_mean_of_decisions(n_classes):
    X, y = IRIS
    X, y = X[y < n_classes], y[y < n_classes]
    models = [make_pipeline(*one, RidgeClassifier()).fit(X, y) for one in pipelines()]
    expected = np.mean([model.decision_function(X) for model in models], axis=0)
    np.testing.assert_allclose(average(models).decision_function(X), expected, rtol=1e-9)


class TestKernelModels:
    @pytest.fixture
    def model(self, quick_metric):
        return KernelRegressor(random_state=0).fit(*table())

    def test_a_mean_that_is_better(self, model, monkeypatch, quick_metric):
        chosen, other = model.chosen_, model.chosen_["averaged_with"]
        assert (chosen["kernel"], chosen["metric"]) != (other["kernel"], other["metric"])
        assert [r for r in model.search_results_ if r["averaged_with"]] == [chosen]
        monkeypatch.setattr(Tuner, "_partner", lambda *given: None)
        single = KernelRegressor(random_state=0).fit(*table())
        assert single.chosen_["averaged_with"] is None
        X, y = table(2000, seed=1)
        assert model.score(X, y) > single.score(X, y)
        # the certificate knows that any two might have been chosen
        n_single, n_pairs = (
            int(m.certificate_.bound.split(" for ")[1].split()[0]) for m in (single, model)
        )
        assert n_pairs == 2 * (n_single // 2) ** 2

    def test_one_that_is_not_better_is_not_taken(self, quick_metric):
        X = np.random.default_rng(0).normal(size=(300, 2))
        model = KernelRegressor(random_state=0).fit(X, np.sin(X[:, 0]) * X[:, 1])
        assert model.chosen_["averaged_with"] is None

    @pytest.mark.parametrize(("errors", "several"), [(np.inf, False), (-np.inf, True)])
    def test_a_second_factor_of_all_rows_must_be_worth_it(
        self, errors, several, quick_metric, monkeypatch
    ):
        monkeypatch.setattr(tuner, "_AVERAGE", errors)
        monkeypatch.setattr(tuner, "_FEWEST_ROWS", 100)
        monkeypatch.setattr(tuner, "_SECOND_ROWS", 200)
        monkeypatch.setattr(limits, "_FOLDED_ROWS", 0)  # one split
        model = KernelRegressor(random_state=0).fit(*table(400, seed=1))
        assert model.chosen_["n_rows"] == 320
        assert (model.chosen_["averaged_with"] is not None) == several

    @pytest.mark.parametrize("place", ["numpy", "torch", "dask"])
    def test_predictions(self, model, place):
        X, _ = table(50, seed=2)
        expected = model.pipeline_.predict(X)
        np.testing.assert_allclose(on_host(model.predict(PLACES[place](X))), expected, rtol=1e-6)

    def test_it_is_trained_again(self, model):
        X, y = table()
        again = model.trained_again(X, y)
        new, _ = table(200, seed=3)
        close = np.abs(again.predict(new) - model.predict(new))
        assert np.median(close) < 0.1 * y.std()
        # each has its own penalty, in all the same as that of the rows it was judged with
        records, expected = (model.chosen_, model.chosen_["averaged_with"]), 0.0
        for record, one in zip(records, again["map"].pipelines_, strict=True):
            alpha = record["penalty"] * model.chosen_["n_rows"]
            a, b = kernel_ridge(one.transform(X), y[:, None], None, alpha)
            expected = expected + (one.transform(new) @ a + b)[:, 0] / 2
        np.testing.assert_allclose(again.predict(new), expected, atol=1e-6)

    def test_classes(self, quick_metric):
        X, y = table(400)
        labels = np.array(["low", "mid", "high"])[np.digitize(y, [-1, 1])]
        model = KernelClassifier(random_state=0).fit(X, labels)
        assert model.chosen_["averaged_with"] is not None
        new, y = table(1000, seed=1)
        truth = np.array(["low", "mid", "high"])[np.digitize(y, [-1, 1])]
        assert model.score(new, truth) > 0.75
        np.testing.assert_allclose(model.predict_proba(new).sum(axis=1), 1)

    def test_files(self, model, tmp_path):
        X, _ = table(30, seed=4)
        path = save_model(model.pipeline_, tmp_path / "m.skops", schema=Schema.of(X))
        again = load_model(path).pipeline
        np.testing.assert_array_equal(again.predict(X), model.pipeline_.predict(X))

    def test_the_program(self, quick_metric):
        X, y = table()
        trained = train_kernel_model(Table("t", X, y, "regression", "y", len(y)))
        assert trained.chosen["averaged_with"] is not None
        assert isinstance(trained.pipeline.named_steps["map"], JoinedMaps)
        (line,) = [each for each in choice_lines(trained, "regression") if "second model" in each]
        assert trained.chosen["averaged_with"]["kernel"] in line

    def test_as_onnx(self, model):
        onnxruntime = pytest.importorskip("onnxruntime")
        X, _ = table(20, seed=4)
        graph = to_onnx(model.pipeline_, X)
        session = onnxruntime.InferenceSession(graph.SerializeToString())
        (found,) = session.run(["variable"], {"X": X})
        np.testing.assert_allclose(found.ravel(), model.predict(X), rtol=1e-6, atol=1e-6)

    def test_a_mean_that_is_clearly_right_less_often_is_not_worth_it(self):
        """Though its loss is lower: margins of models differ in their scales."""
        rng = np.random.default_rng(0)
        best = Tried(
            *(None, 0.97, rng.uniform(0.5, 0.6, 1000), np.arange(1000) < 30, None, None, 1, 0.0)
        )
        both = replace(best, losses=best.losses - 0.1, wrong=np.arange(1000) < 35)
        classes = SimpleNamespace(task="classification", _takes_long=True)
        assert not Tuner._is_worth_it(classes, both, best)
        assert Tuner._is_worth_it(classes, replace(both, wrong=best.wrong), best)
        numbers = SimpleNamespace(task="regression", _takes_long=True)
        assert Tuner._is_worth_it(numbers, replace(both, wrong=None), replace(best, wrong=None))

    def test_the_certificate_holds(self, monkeypatch):
        """Simulated with the choice inside: of the mean of both without the held-out rows."""
        runs, run = [], Tuner.run
        monkeypatch.setattr(Tuner, "run", lambda t: runs.append((t, run(t))) or runs[-1][1])
        rng = np.random.default_rng(0)
        failed, n_means, bounds = 0, 0, []
        for seed in range(12):
            X = rng.normal(size=(1200, 3))
            y = (np.sign(X[:, 0]) + X[:, 1] + rng.normal(size=1200) > 0).astype(int)
            model = KernelClassifier(metric=None, scaling="none", random_state=seed)
            certificate = model.fit(X[:200], y[:200]).certificate_
            tuner, best = runs[-1]
            n_means += len(best.settings) == 2
            wrong = [
                self.errors(fold, best.settings, X[200:], y[200:]) for fold in tuner.judge.folds
            ]
            failed += np.mean(wrong) > certificate.value
            bounds.append(certificate.value)
        assert n_means > 3
        # 5 % at most: more than 3 of 12 would happen with probability .002
        assert failed <= 3
        assert np.mean(bounds) < 0.7

    def errors(self, fold, settings, X, y):
        """The share of rows that the mean of models of a split gets wrong."""
        values = []
        for setting in settings:
            candidate = fold.candidate(setting, len(fold.rows.y))
            a, b = candidate.settled(setting.penalty).solve()
            values.append(candidate.feature_map.transform(X) @ a + b)
        return np.mean((np.mean(values, axis=0)[:, 0] > 0) != (y > 0))
