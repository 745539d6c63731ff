"""Models fitted to all rows of their files: what one array in memory would have given."""

import dataclasses
import threading
import time

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.class_weight import compute_sample_weight

from bochner.data.formats import base
from bochner.data.tables import TableError, file_parts, read_table
from bochner.linear import RidgeClassifier, RidgeRegressor, SquaredHingeClassifier, ridge_head
from bochner.linear.blocks import label_counts
from bochner.models.cluster import ClusterError, connected
from bochner.models.files import Model
from bochner.models.pipelines import make_model
from bochner.models.prediction import predict_folder
from bochner.models.preparation import make_preparation
from bochner.models.schema import Schema, SchemaError
from bochner.models.streaming import RowStream
from bochner.models.training import train, train_kernel_model
from tests.engine.clusters import two_workers


def people(n, seed=0):
    """Rows with gaps, categories and a rare class, in which few rows have no target."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.normal(40, 10, n), "town": rng.choice(["Ulm", "Rom"], n)})
    frame["income"] = frame["age"] * 2 + (frame["town"] == "Ulm") * 9 + rng.normal(size=n)
    frame["buys"] = np.where(frame["income"] > 84, "yes", "no")
    frame.loc[frame.index % 9 == 0, "age"] = np.nan
    frame.loc[frame.index % 50 == 0, ["income", "buys"]] = None
    return frame


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Four files of 150 rows; pieces are of 40."""
    monkeypatch.setattr(base, "CHUNK", 40)
    frame = people(600)
    for part in range(4):
        frame[part::4].to_parquet(tmp_path / f"part-{part}.parquet")
    return tmp_path


def sample(folder, target, **options):
    other = {"income": "buys", "buys": "income"}[target]
    for path in folder.glob("*.parquet"):
        pd.read_parquet(path).drop(columns=other, errors="ignore").to_parquet(path)
    return read_table(folder, target, max_rows=200, **options)


def all_rows(folder, table):
    frame = pd.concat([pd.read_parquet(path) for path in table.files]).dropna(subset=table.target)
    return frame.drop(columns=table.target), frame[table.target].to_numpy()


@pytest.mark.parametrize("target", ["buys", "income"])
def test_the_kernel_model_of_all_rows(folder, target, quick_metric):
    table = sample(folder, target)
    seen = []
    stream = RowStream.of(table, seen.append)
    # landmarks of a wide kernel make columns so alike that rounding decides between them
    quick = {"features": "FourierFeatures", "kernel": "gaussian", "metric": None}
    trained = train_kernel_model(table, width=40, stream=stream, scaling="standard", **quick)
    X, y = all_rows(folder, table)
    assert trained.n_rows == len(y) == 588
    assert seen[-1] == 600
    features = trained.pipeline[:-1].transform(X)
    kind = RidgeClassifier if target == "buys" else RidgeRegressor
    C = 1 / (2 * trained.chosen["penalty"] * len(y))
    expected = kind(C).fit(features, y)
    np.testing.assert_allclose(trained.pipeline[-1].coef_, expected.coef_, rtol=1e-7, atol=1e-9)


def test_the_squared_hinge_of_all_rows(folder):
    table = sample(folder, "buys")
    given = {"gamma": 0.1, "C": 10.0, "measure": "balanced-accuracy"}
    trained = train(table, "FourierFeatures", width=20, stream=RowStream.of(table), **given)
    X, y = all_rows(folder, table)
    assert trained.n_rows == len(y)
    head, features = trained.pipeline[-1], trained.pipeline[:-1].transform(X)
    assert (head.C, head.class_weight) == (10.0, "balanced")
    exact = SquaredHingeClassifier(10.0, class_weight="balanced", tol=1e-9).fit(features, y)

    def objective(head):
        rest = np.maximum(0, 1 - np.where(y == "yes", 1, -1) * head.decision_function(features))
        weights = compute_sample_weight("balanced", y)
        return (head.coef_**2).sum() / 2 + 10 * (weights * rest**2).sum()

    assert objective(head) <= (1 + 1e-4) * objective(exact)


def test_balanced_classes_of_a_kernel_model(folder, quick_metric):
    table = sample(folder, "buys")
    quick = {"kernel": "gaussian", "metric": None, "scaling": "standard"}
    trained = train_kernel_model(
        table, width=20, measure="balanced-accuracy", stream=RowStream.of(table), **quick
    )
    X, y = all_rows(folder, table)
    C = 1 / (2 * trained.chosen["penalty"] * len(y))
    expected = RidgeClassifier(C, class_weight="balanced")
    expected.fit(trained.pipeline[:-1].transform(X), y)
    np.testing.assert_allclose(trained.pipeline[-1].coef_, expected.coef_, rtol=1e-7, atol=1e-9)


def stream_of(table):
    prepare = make_preparation(table.X, standardize=False).fit(table.X)
    return RowStream.of(table).prepared_by(prepare)


def test_classes_that_were_not_drawn_are_counted(folder):
    table = sample(folder, "buys")
    path = folder / "part-3.parquet"
    rows = pd.read_parquet(path)
    rows.loc[rows.index[:7], "buys"] = "perhaps"
    rows.loc[rows.index[8:10], "town"] = "Paris"  # an unseen category is no obstacle
    rows.to_parquet(path)
    stream = stream_of(table)
    counts = label_counts(stream)
    assert set(counts) == {"yes", "no"}
    assert stream.count.n_unknown == 7
    assert stream.count.n_used == sum(counts.values())


def test_files_that_change_between_the_passes(folder):
    table = sample(folder, "buys")
    path, rows = folder / "part-2.parquet", pd.read_parquet(folder / "part-2.parquet")
    rows.assign(age="old").to_parquet(path)
    with pytest.raises(SchemaError, match=r"part-2\.parquet: column 'age' should hold numbers"):
        stream_of(table).reduce(lambda X, y: 0)
    rows.drop(columns="town").to_parquet(path)
    with pytest.raises(SchemaError, match=r"part-2\.parquet: the data lack 'town'"):
        stream_of(table).reduce(lambda X, y: 0)
    rows.drop(columns="buys").to_parquet(path)
    with pytest.raises(TableError, match=r"part-2\.parquet has no target 'buys'"):
        stream_of(table).reduce(lambda X, y: 0)
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(TableError, match=r"part-2\.parquet cannot be read"):
        stream_of(table).reduce(lambda X, y: 0)


def test_numbers_that_are_none(folder):
    table = sample(folder, "income")
    path = folder / "part-1.parquet"
    pd.read_parquet(path).assign(income="much").to_parquet(path)
    with pytest.raises(TableError, match=r"part-1\.parquet: the target does not hold numbers"):
        stream_of(table).reduce(lambda X, y: 0)


def test_a_cluster_adds_up_the_same(folder):
    """A file is a task; a file that is damaged stops the work with its name."""
    table = sample(folder, "buys")
    here = stream_of(table)
    expected = RidgeClassifier(3.0).fit_blocks(here, classes=["no", "yes"])
    with (
        two_workers(processes=False, protocol="tcp") as client,
        connected(client.scheduler.address) as cluster,
    ):
        there = stream_of(table)
        there.cluster = cluster
        head = RidgeClassifier(3.0).fit_blocks(there, classes=["no", "yes"])
        np.testing.assert_allclose(head.coef_, expected.coef_, rtol=1e-8, atol=1e-12)
        assert there.count == here.count
        check_predictions(folder, table, cluster)
        path = folder / "part-2.parquet"
        path.write_bytes(path.read_bytes()[:1000])
        with pytest.raises(TableError, match=r"part-2\.parquet cannot be read"):
            there.reduce(label_count)


class Threads:
    """The scheduler of dask that is there without a cluster."""

    def compute(self, delayed):
        return delayed.compute(scheduler="threads", num_workers=2)


def test_one_large_file_is_many_tasks(folder, tmp_path, monkeypatch):
    """Row groups of Parquet; each task reads no others, and holds a piece of them at a time."""
    pytest.importorskip("dask")
    table = sample(folder, "buys")
    whole = tmp_path / "one"
    whole.mkdir()
    rows = pd.concat([pd.read_parquet(path) for path in table.files])
    rows.to_parquet(whole / "all.parquet", row_group_size=50)
    table = dataclasses.replace(table, files=(whole / "all.parquet",))
    assert file_parts(table.files[0]) == [(0, 1, 2), (3, 4, 5), (6, 7, 8), (9, 10, 11)]
    expected = RidgeClassifier(3.0).fit_blocks(stream_of(table), classes=["no", "yes"])
    heights, threads = [], set()

    def ridge_sums(*given, **shared):
        heights.append(given[0].shape[0])
        threads.add(threading.get_ident())
        time.sleep(0.02)
        return add_up(*given, **shared)

    add_up = ridge_head.ridge_sums
    monkeypatch.setattr(ridge_head, "ridge_sums", ridge_sums)
    stream = stream_of(table)
    stream.cluster = Threads()
    head = RidgeClassifier(3.0).fit_blocks(stream, classes=["no", "yes"])
    np.testing.assert_allclose(head.coef_, expected.coef_, rtol=1e-8, atol=1e-12)
    assert (stream.count.n_read, stream.count.n_used) == (600, 588)
    assert max(heights) <= 40
    assert len(threads) == 2


def test_a_scheduler_that_goes_away(folder):
    """There are no workers, so that the work does not end before."""
    table = sample(folder, "buys")
    pytest.importorskip("distributed")
    import dask

    with (
        dask.config.set({"distributed.comm.timeouts.connect": "1s"}),  # to give up soon
        two_workers(0, processes=False, protocol="tcp") as client,
        connected(client.scheduler.address) as cluster,
    ):
        local, stream = client.cluster, stream_of(table)
        stream.cluster = cluster
        threading.Timer(0.5, local.sync, (local.scheduler.close,)).start()
        with pytest.raises(ClusterError, match=r"scheduler at tcp://.* is gone: nothing was writ"):
            stream.reduce(label_count)


def check_predictions(folder, table, cluster):
    """Files that workers write are those that are written here."""
    pipeline = make_model("FourierFeatures", table.X, table.y, table.task, width=4)
    details = {"task": table.task, "target": table.target, "measure": "accuracy"}
    model = Model(pipeline.fit(table.X, table.y), Schema.of(table.X), details)
    results, summaries = [folder / name for name in ("here", "there")], []
    for result, where in zip(results, (None, cluster), strict=True):
        summaries.append(predict_folder(model, f"{folder}/*.parquet", result, cluster=where))
    assert summaries[0] == summaries[1]
    assert summaries[0].n_scored == 588
    for path in results[0].iterdir():
        found = [pd.read_parquet(result / path.name) for result in results]
        pd.testing.assert_frame_equal(*found)


def label_count(X, y):
    return len(y)


def test_no_scheduler(monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr("bochner.models.cluster._CONNECT_SECONDS", 0.3)
    missing = pytest.raises(ClusterError, match=r"no dask scheduler at tcp://127\.0\.0\.1:9")
    with missing, connected("tcp://127.0.0.1:9"):
        pass
