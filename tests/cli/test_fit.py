"""`bochner fit`: what it writes, and what it refuses."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

pytest.importorskip("skops", reason="the program's packages are not installed")
pytest.importorskip("typer", reason="the program's packages are not installed")

from bochner.cli import fit as command
from bochner.models import pipelines
from bochner.models.files import load_model
from bochner.models.preparation import prepared_names
from tests.cli.commands import FOURIER, fit, refused, run, table


def test_what_the_file_says_of_the_model(here):
    fit("--method", "nystroem", "--gamma", 0.1, "--C", 5, "--seed", 3)
    details = load_model("model.skops").details
    assert details["method"] == "Nystroem"
    assert details["chosen"] == {"gamma": 0.1, "C": 5.0}
    assert (details["task"], details["target"], details["rows"]) == ("classification", "buys", 300)
    assert details["classes"] == ["no", "yes"]
    assert details["measure"] == "accuracy"
    assert 0.5 < details["score"] <= 1
    names = [column.name for column in load_model("model.skops").schema.columns]
    assert names == ["age", "town", "code", "owner", "name"]


def test_nothing_is_replaced_unless_told(here):
    fit()
    before = (here / "model.skops").read_bytes()
    refused(run("fit", "train.csv", "--target", "buys"), "model.skops is there already")
    assert (here / "model.skops").read_bytes() == before
    fit("--force", "--seed", 1)
    assert (here / "model.skops").read_bytes() != before
    assert run("predict", "model.skops", "new.csv").exit_code == 0
    refused(run("predict", "model.skops", "new.csv"), "predictions.csv is there already")
    refused(run("fit", "train.csv", "--output", "nowhere/m.skops"), "no folder nowhere")
    refused(run("fit", "train.csv", "--output", "."), "folder")


def test_mistakes_of_fit_are_one_line(here):
    refused(run("fit", "absent.csv"), "there is no file")
    refused(run("fit", "train.csv", "--target", "bys"), "did you mean buys")
    refused(run("fit", "train.csv", "--method", "Magic"), "there is no method 'Magic'")
    for option, value in (("--gamma", "-1"), ("--C", "0")):
        given = run("fit", "train.csv", *FOURIER, option, value)
        refused(given, f"{option} must be a positive finite number")
    refused(run("fit", "train.csv", "--task", "clustering"), "task must be one of")
    odd = run("fit", "train.csv", *FOURIER, "--width", 31)
    refused(odd, "must be even")
    assert not odd.stdout
    refused(run("fit", "train.csv", "--width", 10**9), "--width must be at most 1000000")
    refused(run("fit", "train.csv", "--method", "Mercer"), "did you mean MercerFeatures?")
    table(60).assign(since=pd.date_range("2020-01-01", periods=60)).to_csv("dated.csv")
    refused(run("fit", "dated.csv", "--target", "since"), "the target 'since' holds dates")
    landmarks = run("fit", "iris", "--width", 500, "--method", "LandmarkSimilarities")
    refused(landmarks, "LandmarkSimilarities with 500 columns needs as many training rows")
    assert not (here / "model.skops").exists()


def test_a_metric_before_the_map(here):
    result = fit("--metric", "diagonal")
    assert "Metric: diagonal. Importances: " in result.stdout
    pipeline = load_model("model.skops").pipeline
    assert list(pipeline.named_steps) == ["prepare", "metric", "map", "head"]
    assert load_model("model.skops").details["metric"] == "diagonal"
    importances = dict(zip(prepared_names(pipeline[0]), pipeline[1].importances_, strict=True))
    assert importances["age"] > importances["code_01"]
    assert run("predict", "model.skops", "new.csv").exit_code == 0
    network = run(
        "fit", "digits", "--method", "ConvolutionalKernelNetwork", "--metric", "auto", "--force"
    )
    refused(network, "a metric would mix their pixels")
    refused(
        run("fit", "train.csv", "--metric", "half", "--force"),
        "--metric must be one of none, auto",
    )


def onnx_labels(onnxruntime):
    """What model.onnx says of new.csv."""
    new = pd.read_csv("new.csv", dtype={"code": str})
    session = onnxruntime.InferenceSession("model.onnx", providers=["CPUExecutionProvider"])
    inputs = {
        variable.name: new[[variable.name]].to_numpy(np.float64)
        if variable.type == "tensor(double)"
        else new[[variable.name]].astype(object).fillna("").to_numpy(object)
        for variable in session.get_inputs()
    }
    label, _ = session.run(None, inputs)
    return label.tolist()


@pytest.mark.parametrize("metric", ["none", "full"])
def test_onnx(here, metric):
    pytest.importorskip("skl2onnx", reason="the packages for ONNX are not installed")
    onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    fit("--onnx", "model.onnx", "--metric", metric)
    run("predict", "model.skops", "new.csv")
    assert onnx_labels(onnxruntime) == pd.read_csv("predictions.csv")["prediction"].tolist()


@pytest.mark.parametrize("target", ["buys", "age"])
def test_the_kernel_model_says_what_it_chose_and_why(here, target):
    people = pd.read_csv("train.csv", dtype={"code": str}).dropna(subset="age")
    people.to_csv("known.csv", index=False)
    quick = ("--width", 64, "--kernel", "gaussian", "--metric", "diagonal", "--seed", 1)
    result = run("fit", "known.csv", "--target", target, *quick)
    assert result.exit_code == 0, result.output
    said = " ".join(result.stdout.split())
    assert "Kernel model, " in said
    # the rows of "age" have two values in every column: quantiles would be the same as robust
    for words in ("scaling ", "(standard ", ", robust ", "metric ", "(none ", "kernel gaussian"):
        assert words in said
    assert re.search("columns that matter most: (age|town|buys)", said)
    model = load_model("model.skops")
    steps = list(model.pipeline.named_steps)
    assert steps[:2] == ["prepare", "scaling"]
    assert steps[-2:] == ["map", "head"]
    assert model.details["method"] == "KernelModel"
    assert model.details["chosen"]["kernel"] == "gaussian"
    predicted = run("predict", "model.skops", "known.csv")
    assert predicted.exit_code == 0, predicted.output


def test_a_kernel_model_as_onnx(here):
    pytest.importorskip("skl2onnx", reason="the packages for ONNX are not installed")
    onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    given = ("--kernel", "exponential", "--scaling", "quantile", "--metric", "none")
    said = run("fit", "train.csv", "--width", 32, *given, "--onnx", "model.onnx")
    assert said.exit_code == 0, said.output
    run("predict", "model.skops", "new.csv")
    assert onnx_labels(onnxruntime) == pd.read_csv("predictions.csv")["prediction"].tolist()


def test_options_that_say_nothing_are_refused(here):
    refused(run("fit", "train.csv", "--C", 3), "--C is for a method", "add --method")
    refused(run("fit", "train.csv", "--gamma", 3), "--gamma is for a method")
    for option, value in (("--kernel", "cauchy"), ("--scaling", "none"), ("--time-budget", 9)):
        refused(run("fit", "train.csv", *FOURIER, option, value), "leave out --method")
    refused(run("fit", "train.csv", "--kernel", "gaus"), "--kernel must be one of auto, gaussian")
    refused(run("fit", "train.csv", "--scaling", "x"), "--scaling must be one of auto, standard")
    refused(run("fit", "train.csv", "--time-budget", 0), "--time-budget must be a positive")


def test_onnx_is_refused_before_training(here, monkeypatch):
    pytest.importorskip("skl2onnx", reason="the packages for ONNX are not installed")
    monkeypatch.setattr("bochner.models.training.train", None)
    monkeypatch.setattr("bochner.models.training.train_kernel_model", None)
    dated = table(60)
    dated.insert(0, "since", pd.date_range("2020-01-01", periods=60))
    dated.to_csv("dated.csv", index=False)
    result = run("fit", "dated.csv", "--onnx", "m.onnx")
    refused(result, "columns of dates", "cannot be written as ONNX")
    assert "MercerFeatures" not in result.stderr
    assert not result.stdout
    network = ("--method", "ConvolutionalKernelNetwork", "--width", 32)
    refused(run("fit", "digits", *network, "--onnx", "m.onnx"), "ConvolutionalKernelNetwork")


def test_onnx_that_cannot_be_is_one_line(here, monkeypatch):
    monkeypatch.setattr(command, "find_spec", lambda name: None)
    refused(run("fit", "train.csv", "--onnx", "m.onnx"), "pip install 'bochner[onnx]'")
    assert not (here / "model.skops").exists()


@pytest.mark.parametrize("C", ["5e-324", "1e-300", "1e300"])
def test_extreme_penalties_come_to_an_end(here, C):
    for target in ("buys", "age"):
        small = (*FOURIER, "--width", 8, "--force")
        said = run("fit", "train.csv", "--target", target, "--C", C, *small)
        assert said.exit_code == 0, said.output


def test_an_exact_method_comes_to_an_end(rng, monkeypatch):
    """Noise and a large C: libsvm would not stop."""
    monkeypatch.setattr(pipelines, "_SVC_STEPS", 10**4)
    X, y = rng.normal(size=(100, 2)), rng.integers(0, 2, size=100)
    exact = pipelines.make_exact("classification", gamma=0.05, C=1e9)
    with pytest.warns(ConvergenceWarning):
        exact.fit(X, y)


@pytest.fixture
def parts(here):
    """The people of train.csv in a folder of three Parquet files."""
    (here / "parts").mkdir()
    for i in range(3):
        table(300)[i::3].to_parquet(f"parts/{i}.parquet")
    return here / "parts"


QUICK = ("--width", 32, "--kernel", "gaussian", "--metric", "none", "--scaling", "standard")


def test_all_rows_of_a_folder_are_used(parts, monkeypatch):
    monkeypatch.setattr(command, "_SAMPLE", 120)
    (parts / "empty.parquet").write_bytes(b"")
    for source, more in (("parts", QUICK), ("parts/*.parquet", (*FOURIER, "--width", 16))):
        said = run("fit", source, "--target", "buys", *more, "--force")
        assert said.exit_code == 0, said.output
        assert "parts: 300 rows, 5 columns, 2 classes" in said.stdout
        assert "300 rows in 3 files, 120 drawn at random." in said.stdout
        assert "1 file was left out (no rows): empty.parquet." in said.stdout
        assert "on 24 rows set aside; then trained again on all 300." in said.stdout
        assert load_model("model.skops").details["rows"] == 300
    said = run("fit", "parts", "--target", "buys", *QUICK, "--max-rows", 100, "--force")
    assert "then trained again on all 100." in said.stdout
    assert "fitted to all rows" not in said.stdout


def test_bad_files_stop_or_are_counted(parts, monkeypatch):
    monkeypatch.setattr(command, "_SAMPLE", 120)
    data = (parts / "1.parquet").read_bytes()
    (parts / "1.parquet").write_bytes(data[: len(data) // 2])
    refused(run("fit", "parts", "--target", "buys", *QUICK), "parts/1.parquet cannot be read")
    said = run("fit", "parts", "--target", "buys", *QUICK, "--skip-bad-files")
    assert "1 file was left out (damage): 1.parquet." in said.stdout
    assert "trained again on all 200." in said.stdout


def test_nothing_is_written_when_the_last_pass_stops(parts, monkeypatch):
    monkeypatch.setattr(command, "_SAMPLE", 120)

    def interrupted(self):
        yield from ()
        raise KeyboardInterrupt

    monkeypatch.setattr("bochner.models.streaming.RowStream._blocks", interrupted)
    assert run("fit", "parts", "--target", "buys", *QUICK).exit_code == 130
    assert sorted(path.name for path in parts.parent.iterdir()) == [
        "new.csv",
        "parts",
        "train.csv",
    ]


def test_a_cluster_is_for_many_rows(parts, monkeypatch):
    pytest.importorskip("distributed")
    refused(run("fit", "parts", *QUICK, "--cluster", "tcp://127.0.0.1:9"), "more than 100000 rows")
    monkeypatch.setattr(command, "_SAMPLE", 120)
    monkeypatch.setattr("bochner.models.cluster._CONNECT_SECONDS", 0.3)
    given = ("--target", "buys", *QUICK, "--cluster", "tcp://127.0.0.1:9")
    refused(run("fit", "parts", *given), "there is no dask scheduler at")
