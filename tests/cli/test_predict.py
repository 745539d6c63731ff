"""`bochner predict`, in a process of its own or quickly in this one."""

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file, load_iris

pytest.importorskip("skops", reason="the program's packages are not installed")
pytest.importorskip("typer", reason="the program's packages are not installed")

from bochner.data.formats import base
from bochner.models import prediction
from bochner.models.files import load_model
from tests.cli.commands import FOURIER, fit, images, refused, run, trained


def test_round_trip_through_another_process(here):
    said = fit().stdout
    for words in ("300 rows", "gamma", "C ", "rows set aside", "Wrote model.skops"):
        assert words in said
    arguments = [sys.executable, "-m", "bochner", "predict", "model.skops", "new.csv"]
    result = subprocess.run(arguments, capture_output=True, text=True, timeout=120, check=True)
    assert "on 100 rows with a target" in result.stdout
    found = pd.read_csv("predictions.csv")
    model = load_model("model.skops")
    rows, _ = model.schema.arrange(pd.read_csv("new.csv", dtype={"code": str}))
    assert found["prediction"].tolist() == model.pipeline.predict(rows).tolist()
    assert (found["prediction"] == pd.read_csv("new.csv")["buys"]).mean() > 0.8


@pytest.mark.parametrize("method", ["ConvolutionalKernelNetwork", "MercerFeatures"])
def test_images_round_trip(here, method):
    X, y = images()
    np.savez("train.npz", X=X[:300], y=y[:300])
    np.savez("new.npz", X=X[300:], y=y[300:])
    np.savez("wrong.npz", X=X[:5].reshape(-1, 4, 16), y=y[:5])
    np.savez("flat.npz", X=X[300:].reshape(100, 64), y=y[300:])
    said = run("fit", "train.npz", "--method", method, "--width", 32)
    assert said.exit_code == 0, said.output
    assert "Images of 8 x 8 pixels" in said.stdout
    assert load_model("model.skops").details["image_shape"] == [8, 8, 1]
    for new in ("new.npz", "flat.npz"):
        said = run("predict", "model.skops", new, "--force")
        assert said.exit_code == 0, said.output
        assert "on 100 rows with a target" in said.stdout
        assert (pd.read_csv("predictions.csv")["prediction"] == y[300:]).mean() > 0.9
    refused(
        run("predict", "model.skops", "wrong.npz", "--force"),
        "images of 8 x 8, those in wrong.npz are 4 x 16",
    )


def test_images_in_a_text_file(here):
    """The target first, no header; and new rows without it."""
    pytest.importorskip("skl2onnx", reason="the packages for ONNX are not installed")
    X, y = images()
    rows = pd.DataFrame(np.column_stack([y, X.reshape(len(X), 64)]))
    rows[:300].to_csv("train.csv", index=False, header=False)
    rows[300:].drop(columns=0).to_csv("new.csv", index=False, header=False)
    shape = ("--target", 1, "--image-shape", "8x8", "--width", 32)
    said = run("fit", "train.csv", *shape, *FOURIER, "--onnx", "model.onnx")
    assert said.exit_code == 0, said.output
    said = run("predict", "model.skops", "new.csv")
    assert said.exit_code == 0, said.output
    assert (pd.read_csv("predictions.csv")["prediction"] == y[300:]).mean() > 0.9
    said = run("fit", "train.csv", *shape, "--method", "convolutionalkernelnetwork", "--force")
    assert said.exit_code == 0, said.output
    refused(run("fit", "train.csv", *shape[:2], "--image-shape", "9x9", "--force"), "64 columns")
    wide = ("--target", 1, "--width", 34, "--method", "ConvolutionalKernelNetwork", "--force")
    refused(run("fit", "train.csv", *wide), "is for images")
    refused(run("fit", "train.csv", *wide, "--image-shape", "8x8"), "a multiple of 4 is needed")


def test_columns_in_any_order_with_others_beside_them(here):
    trained()
    run("predict", "model.skops", "new.csv", "--output", "one.csv")
    new = pd.read_csv("new.csv", dtype=str)
    new = new[["town", "owner", "age", "code"]].assign(colour="red")
    new.loc[3, "town"] = "Paris"
    new.to_csv("other.csv", index=False, sep=";")
    result = run("predict", "model.skops", "other.csv", "--output", "two.csv")
    assert result.exit_code == 0, result.output
    assert "ignored: 'colour'" in result.stdout
    assert "1 row has a value of 'town' that was not there" in result.stdout
    assert "with a target" not in result.stdout
    one, two = pd.read_csv("one.csv"), pd.read_csv("two.csv")
    different = one.index[one["prediction"] != two["prediction"]]
    assert set(different) <= {3}


def test_large_files_are_read_in_pieces(here, monkeypatch):
    trained()
    run("predict", "model.skops", "new.csv", "--output", "whole.csv", "--scores")
    heights = []
    arrange = load_model("model.skops").schema.arrange

    def watched(self, X):
        heights.append(len(X))
        return arrange(X)

    monkeypatch.setattr(base, "CHUNK", 30)
    monkeypatch.setattr("bochner.models.schema.Schema.arrange", watched)
    result = run("predict", "model.skops", "new.csv", "--output", "pieces.csv", "--scores")
    assert heights == [30, 30, 30, 10]
    assert "on 100 rows with a target" in result.stdout
    # codes are digits only in some pieces: they must stay text
    whole, pieces = (pd.read_csv(f"{name}.csv") for name in ("whole", "pieces"))
    assert whole["prediction"].tolist() == pieces["prediction"].tolist()
    np.testing.assert_allclose(whole["score_yes"], pieces["score_yes"], rtol=1e-6)


def test_scores_and_probabilities(here):
    trained()
    assert run("predict", "model.skops", "new.csv", "--probabilities").exit_code == 0
    found = pd.read_csv("predictions.csv")
    assert list(found.columns) == ["prediction", "probability_no", "probability_yes"]
    np.testing.assert_allclose(found["probability_no"] + found["probability_yes"], 1)
    assert ((found["probability_yes"] > 0.5) == (found["prediction"] == "yes")).mean() > 0.9
    refused(run("predict", "model.skops", "new.csv", "--force", "--scores", "--probabilities"))
    run("fit", "iris", *FOURIER, "--width", 8, "--output", "iris.skops")
    run("predict", "iris.skops", "iris", "--scores", "--force")
    assert pd.read_csv("predictions.csv").shape == (150, 4)
    run("fit", "diabetes", *FOURIER, "--width", 8, "--output", "numbers.skops")
    result = run("predict", "numbers.skops", "diabetes", "--scores", "--force")
    refused(result, "this model predicts numbers")
    result = run("predict", "numbers.skops", "diabetes", "--force")
    assert "R2 0." in result.stdout


def test_other_files(here):
    X, y = load_iris(return_X_y=True)
    dump_svmlight_file(X, y, "iris.svm")
    np.savez("iris.npz", X=X, y=y)
    np.savez("rows.npz", X=X)
    np.savetxt("plain.csv", np.column_stack([X, y]), delimiter=",")
    np.savetxt("plain-rows.csv", X, delimiter=",")
    for train, new in (
        ("iris.svm", "iris.svm"),
        ("iris.npz", "iris.npz"),
        ("iris.npz", "rows.npz"),
        ("plain.csv", "plain.csv"),
        ("plain.csv", "plain-rows.csv"),
    ):
        result = run("fit", train, *FOURIER, "--width", 16, "--force", "--output", "other.skops")
        assert result.exit_code == 0, result.output
        result = run("predict", "other.skops", new, "--force")
        assert result.exit_code == 0, result.output
        assert ("with a target" in result.stdout) == ("rows" not in new)
        found = pd.read_csv("predictions.csv")["prediction"]
        assert np.mean(found == y) > 0.8
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    fit("--force")
    run("predict", "model.skops", "new.csv", "--force")
    expected = pd.read_csv("predictions.csv")
    pd.read_csv("new.csv", dtype={"code": str}).to_parquet("new.parquet")
    result = run("predict", "model.skops", "new.parquet", "--force")
    assert result.exit_code == 0, result.output
    pd.testing.assert_frame_equal(pd.read_csv("predictions.csv"), expected)


def test_one_column(here):
    rng = np.random.default_rng(0)
    x = rng.normal(size=100)
    pd.DataFrame({"x": x, "y": x**2}).to_csv("square.csv", index=False)
    run("fit", "square.csv", *FOURIER, "--width", 16, "--output", "square.skops")
    pd.DataFrame({"x": x}).to_csv("alone.csv", index=False)
    result = run("predict", "square.skops", "alone.csv")
    assert result.exit_code == 0, result.output
    found = pd.read_csv("predictions.csv")["prediction"]
    assert np.corrcoef(found, x**2)[0, 1] > 0.9


def test_mistakes_of_predict_are_one_line(here):
    trained()
    new = pd.read_csv("new.csv")
    new.drop(columns="age").to_csv("lacks.csv", index=False)
    new.assign(age="old").to_csv("wrong.csv", index=False)
    new[:0].to_csv("header.csv", index=False)
    (here / "empty.csv").write_text("")
    np.savez("array.npz", X=np.ones((3, 4)))
    damaged = bytearray((here / "model.skops").read_bytes())
    damaged[1000] ^= 1
    (here / "damaged.skops").write_bytes(damaged)

    refused(run("predict", "model.skops", "lacks.csv"), "the data lack 'age'")
    refused(run("predict", "model.skops", "wrong.csv"), "'age' should hold numbers", "'old'")
    refused(run("predict", "model.skops", "header.csv"), "no rows")
    refused(run("predict", "model.skops", "empty.csv"), "is empty")
    refused(run("predict", "model.skops", "absent.csv"), "no dataset 'absent.csv'")
    refused(run("predict", "model.skops", "array.npz"), "takes columns by name")
    refused(run("predict", "damaged.skops", "new.csv"), "damaged")
    refused(run("predict", "new.csv", "new.csv"), "not a model file")
    refused(run("predict", "absent.skops", "new.csv"), "cannot be read")
    assert not (here / "predictions.csv").exists()
    assert not [name for name in os.listdir(here) if name.endswith(".part")]


def test_an_interruption_writes_nothing(here, monkeypatch):
    trained()

    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(prediction, "stream_table", interrupted)
    assert run("predict", "model.skops", "new.csv").exit_code == 130
    assert sorted(os.listdir(here)) == ["model.skops", "new.csv", "train.csv"]


def test_decimal_commas_in_training_and_new_rows(here):
    """Also new rows with points, of one column, and in pieces."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=200).round(3)})
    frame["y"] = (frame["x"] ** 2).round(3)
    for name in ("train", "new"):
        frame.to_csv(f"{name}.csv", index=False, sep=";", decimal=",")
    frame.to_csv("points.csv", index=False)
    frame[["x"]].to_csv("alone.csv", index=False, sep=";", decimal=",")
    said = run("fit", "train.csv", *FOURIER, "--width", 16)
    assert said.exit_code == 0, said.output
    assert "Commas are read as decimal points: x, y." in said.stdout
    found = []
    for name in ("new", "points", "alone"):
        said = run("predict", "model.skops", f"{name}.csv", "--force")
        assert said.exit_code == 0, said.output
        assert ("Commas are read as decimal points" in said.stdout) == (name != "points")
        assert ("on 200 rows with a target" in said.stdout) == (name != "alone")
        found.append(pd.read_csv("predictions.csv")["prediction"].tolist())
    assert found[0] == found[1] == found[2]
    frame.assign(x=["soon"] + ["1,5"] * 199).to_csv("wrong.csv", index=False, sep=";")
    wrong = run("predict", "model.skops", "wrong.csv", "--force")
    refused(wrong, "'x' should hold numbers, but row 1 has 'soon'")


def test_help_says_what_excludes_what():
    said = " ".join(run("predict", "--help").stdout.replace("│", " ").split())
    assert "not with --probabilities" in said
    assert "not with --scores" in said


def test_infinite_values_are_mentioned(here, monkeypatch):
    trained()
    monkeypatch.setattr(base, "CHUNK", 10)
    people = pd.read_csv("new.csv")
    people.loc[[2, 30, 31], "age"] = [np.inf, -np.inf, np.inf]
    people.to_csv("new.csv", index=False)
    assert "3 infinite values count as missing." in run("predict", "model.skops", "new.csv").stdout


@pytest.mark.parametrize("name", ["-", "/dev/stdout"])
def test_standard_output(here, name):
    """Nothing but the predictions is there; all else is on stderr."""
    trained()
    run("predict", "model.skops", "new.csv")
    arguments = [sys.executable, "-m", "bochner", "predict", "model.skops", "new.csv"]
    with open("all.csv", "wb") as file:
        result = subprocess.run(
            [*arguments, "--output", name], stdout=file, stderr=subprocess.PIPE, timeout=120
        )
    assert result.returncode == 0
    assert b"Wrote 100 predictions to standard output" in result.stderr
    with open("all.csv", "rb") as found, open("predictions.csv", "rb") as expected:
        assert found.read() == expected.read()
    assert not os.path.lexists("-")


def test_a_model_on_standard_output(here):
    said = fit("--output", "-")
    assert "Wrote standard output" in said.stderr
    with open("piped.skops", "wb") as file:
        file.write(said.stdout_bytes)
    assert run("predict", "piped.skops", "new.csv").exit_code == 0
    assert "Wrote 100" in run("predict", "piped.skops", "new.csv", "--force").stdout


def test_class_names_like_formulas_are_read_back(here):
    people = pd.read_csv("train.csv")
    people["buys"] = people["buys"].map({"yes": "=1+1", "no": "\x1b[2Jno"})
    people.to_csv("train.csv", index=False)
    trained()
    said = run("predict", "model.skops", "new.csv").stdout
    assert "The class '=1+1' is written as it is; a spreadsheet may take it for a form" in said
    found = set(pd.read_csv("predictions.csv")["prediction"])
    assert found == {"=1+1", "\x1b[2Jno"}
    assert "\x1b" not in said


@pytest.fixture
def parts(here):
    """new.csv in a folder of three files, and a model."""
    trained()
    (here / "parts").mkdir()
    new = pd.read_csv("new.csv", dtype={"code": str})
    for i in range(3):
        new[i::3].to_parquet(f"parts/{i}.parquet")
    run("predict", "model.skops", "new.csv", "--probabilities")
    return here / "parts"


def test_a_folder_becomes_a_folder(parts):
    whole = pd.read_csv("predictions.csv")
    (parts / "empty.parquet").write_bytes(b"")
    said = run("predict", "model.skops", "parts", "--probabilities")
    assert said.exit_code == 0, said.output
    assert "on 100 rows with a target" in said.stdout
    assert "1 file was left out (no rows): empty.parquet." in said.stdout
    assert "Wrote 100 predictions to 3 files in predictions." in said.stdout
    assert sorted(os.listdir("predictions")) == ["0.parquet", "1.parquet", "2.parquet"]
    for i in range(3):
        found = pd.read_parquet(f"predictions/{i}.parquet")
        pd.testing.assert_frame_equal(found, whole[i::3].reset_index(drop=True))
    refused(run("predict", "model.skops", "parts"), "predictions is not empty: use --force")
    assert run("predict", "model.skops", "parts", "--force").exit_code == 0
    assert list(pd.read_parquet("predictions/1.parquet").columns) == ["prediction"]
    refused(run("predict", "model.skops", "parts", "--output", "model.skops"), "is a file")


def test_several_files_may_become_one(parts):
    for name, read in (("one.csv", pd.read_csv), ("one.parquet", pd.read_parquet)):
        said = run("predict", "model.skops", "parts/[01].parquet", "--output", name)
        assert f"Wrote 67 predictions to {name}." in said.stdout
        assert len(read(name)) == 67
    (parts / "empty.parquet").write_bytes(b"")
    said = run("predict", "model.skops", "parts", "--output", "three.csv")
    assert "Wrote 100 predictions to three.csv." in said.stdout
    assert "1 file was left out (no rows): empty.parquet." in said.stdout
    pd.read_parquet(parts / "1.parquet").assign(age="old").to_parquet(parts / "1.parquet")
    wrong = run("predict", "model.skops", "parts", "--output", "four.csv")
    refused(wrong, "parts/1.parquet: column 'age' should hold numbers")
    said = run("predict", "model.skops", "new.csv", "--output", "new.parquet")
    assert len(pd.read_parquet("new.parquet")) == 100
    several = ("--skip-bad-files", "--output", "two.csv")
    refused(run("predict", "model.skops", "parts", *several), "several files that go to a folder")


def test_folders_of_folders_and_of_text(parts):
    new = pd.read_csv("new.csv", dtype={"code": str})
    for year in ("2020", "2021"):
        (parts / year).mkdir()
        new.to_csv(parts / year / "rows.csv.gz", index=False)
    said = run("predict", "model.skops", "parts/*/rows.csv.gz", "--output", "found")
    assert said.exit_code == 0, said.output
    assert len(pd.read_csv("found/2021/rows.csv")) == 100
    new.to_csv(parts / "2021" / "rows.csv", index=False)
    said = run("predict", "model.skops", "parts/2021", "--output", "again")
    refused(said, "would have one name")


def test_a_bad_file_among_several(parts):
    data = (parts / "1.parquet").read_bytes()
    (parts / "1.parquet").write_bytes(data[: len(data) // 2])
    before = sorted(os.listdir())
    refused(run("predict", "model.skops", "parts"), "1.parquet cannot be read")
    assert sorted(os.listdir()) == before
    said = run("predict", "model.skops", "parts", "--skip-bad-files")
    assert "1 file was left out (damage): 1.parquet." in said.stdout
    assert "Wrote 67 predictions to 2 files in predictions." in said.stdout
    assert sorted(os.listdir("predictions")) == ["0.parquet", "2.parquet"]
    new = pd.read_csv("new.csv", dtype={"code": str})
    new[1::3].drop(columns="town").to_parquet(parts / "1.parquet")
    missing = run("predict", "model.skops", "parts", "--force", "--skip-bad-files")
    refused(missing, "1.parquet: the data lack 'town'")


def test_an_interruption_leaves_no_folder(parts, monkeypatch):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(prediction, "stream_file", interrupted)
    before = sorted(os.listdir())
    assert run("predict", "model.skops", "parts").exit_code == 130
    assert sorted(os.listdir()) == before
