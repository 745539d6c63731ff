"""`bochner compare` on files as a person would try it; where it is killed, in its own process."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

pytest.importorskip("typer", reason="the program's packages are not installed")

from typer.testing import CliRunner

from bochner import cli as commands
from bochner.cli.app import app
from bochner.cli.console import console
from bochner.records.cells import Notebook

DIGITS, WINE = (f"bochner-results/{name}" for name in ("digits", "wine"))
QUICK = ("--widths", "8", "--seeds", "1", "--jobs", "1")
FAST = ("--method", "FourierFeatures", "--method", "MercerFeatures", *QUICK)


@pytest.fixture
def compare(tmp_path, monkeypatch):
    """Gives the command, in this process."""

    def run(*arguments, columns=120):
        monkeypatch.setattr(console, "_width", columns)
        return CliRunner().invoke(app, ["compare", *arguments])

    monkeypatch.chdir(tmp_path)
    return run


def command(*arguments):
    return [sys.executable, "-m", "bochner", "compare", *arguments]


def cells_of(folder):
    return [json.loads(line) for line in (folder / "cells.jsonl").read_text().splitlines()]


def test_bundled_data(compare, tmp_path):
    result = compare("wine", "--widths", "8,140", "--seeds", "2", "--jobs", "1")
    assert result.exit_code == 0, result.stderr
    for expected in (
        "178 rows",
        "RBFSampler",
        "exact",
        "±",
        "Left out: Nystroem with 140",
        "Use ",
        "error rate on new rows, of the first split's model",
        "kernel residual ≤",
        "results.json",
        "Page: ",
    ):
        assert expected in result.stdout
    folder = tmp_path / "bochner-results" / "wine"
    document = json.loads((folder / "results.json").read_text())
    assert document["kind"] == "comparison"
    assert len(document["cells"]) == len(cells_of(folder))
    assert not document["interrupted"]
    names = [summary["method"] for summary in document["summaries"]]
    assert names[:3] == ["KernelClassifier", "HistGradientBoosting", "linear"]
    assert (folder / "page.html").stat().st_size < 1_000_000


def test_without_and_with_a_metric(compare, tmp_path):
    result = compare("iris", *FAST, "--metric", "diagonal", columns=80)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.count("  after a metric ") == 2
    folder = tmp_path / "bochner-results" / "iris"
    document = json.loads((folder / "results.json").read_text())
    assert [s["metric"] for s in document["summaries"]] == [None, "diagonal"] * 2
    assert len(document["metric"]["importances"]) == 4
    page = (folder / "page.html").read_text()
    assert "Importances of the columns" in page
    assert document["metric"]["importances"][0][0] in page
    assert (
        "2 of 2 results were found on file"
        in compare("iris", "--method", "MercerFeatures", *QUICK, "--metric", "diagonal").stdout
    )
    wrong = compare("iris", "--metric", "half")
    assert wrong.exit_code == 2
    assert "--metric must be one of none, auto, diagonal, root, full" in wrong.stderr


def test_why_nothing_is_guaranteed_is_said(compare, tmp_path):
    result = compare("iris", *QUICK, "--method", "FourierFeatures")
    line = "No guarantee for its kernel: none is known for the kernel of this method."
    assert line in result.stdout
    folder = tmp_path / "bochner-results" / "iris"
    (summary,) = json.loads((folder / "results.json").read_text())["summaries"]
    assert summary["no_guarantee"] == "none is known for the kernel of this method"
    assert "none is known for the kernel of this method" in (folder / "page.html").read_text()
    result = compare("iris", *QUICK, "--method", "MercerFeatures")
    assert "Not guaranteed" not in result.stdout


def test_only_some_methods_and_a_narrow_screen(compare, tmp_path):
    result = compare("iris", *QUICK, "--method", "rbfsampler", "--output", "here", columns=60)
    assert result.exit_code == 0, result.stderr
    assert "RBFSampler" in result.stdout
    assert "Nystroem" not in result.stdout
    assert (tmp_path / "here" / "results.json").exists()


def test_a_table_with_everything_in_it(compare, tmp_path, rng):
    """Strings, gaps, dates, an identifier, and few of one class."""
    n = 400
    frame = pd.DataFrame(
        {
            "age": rng.normal(40, 10, n).round(),
            "job": rng.choice(["smith", "cook", None], n),
            "customer": [f"id {i}" for i in range(n)],
            "since": pd.date_range("2020-01-01", periods=n).strftime("%Y-%m-%d"),
        }
    )
    frame["left"] = np.where(frame["age"] > 56, "yes", "no")
    frame.loc[::9, "age"] = np.nan
    frame.loc[:2, "left"] = None
    frame.to_csv(tmp_path / "people.csv", index=False)
    result = compare("people.csv", "--target", "left", *FAST)
    assert result.exit_code == 0, result.stderr
    for expected in (
        "397 rows, 4 columns, 2 classes",
        "3 rows without a target were left out",
        "value of their own: customer",
        "in days: since",
        "where: age, job",
        "balanced accuracy",
    ):
        assert expected in result.stdout
    document = json.loads((tmp_path / "bochner-results/people-left/results.json").read_text())
    assert document["measure"]["name"] == "balanced accuracy"
    assert max(line["score"] for line in document["summaries"]) > 80


def test_images(compare, tmp_path):
    from sklearn.datasets import load_digits

    X, y = load_digits(n_class=3, return_X_y=True)
    np.savez(tmp_path / "three.npz", X=X.reshape(-1, 8, 8).astype(np.uint8), y=y)
    pd.DataFrame(X).assign(y=y).to_csv(tmp_path / "three.csv", index=False)
    options = ("--method", "ConvolutionalKernelNetwork", "--method", "FourierFeatures")
    options += ("--widths", "16,26", "--seeds", "1", "--jobs", "1")
    scores = []
    for data in (("three.npz",), ("three.csv", "--image-shape", "8x8")):
        result = compare(*data, *options, "--output", data[0][-3:])
        assert result.exit_code == 0, result.stderr
        assert "Images of 8 x 8 pixels" in result.stdout
        assert "Left out: ConvolutionalKernelNetwork with 26 columns: 26 columns are shared" in (
            " ".join(result.stdout.split())
        )
        document = json.loads((tmp_path / data[0][-3:] / "results.json").read_text())
        assert document["data"]["image_shape"] == [8, 8, 1]
        lines = {(line["method"], line["width"]): line for line in document["summaries"]}
        assert set(lines["ConvolutionalKernelNetwork", 16]["chosen"]) == {"quantile", "C"}
        (patches,) = document["pictures"]["patches"]
        assert patches["method"] == "ConvolutionalKernelNetwork"
        scores.append({key: line["score"] for key, line in lines.items()})
        assert min(scores[-1].values()) > 90
    assert scores[0] == scores[1]
    result = compare("three.csv", *QUICK, "--time-budget", "0")
    assert "ConvolutionalKernelNetwork" not in result.output  # silently: these are no images


def test_names_are_shown_as_they_are(compare, tmp_path, rng):
    frame = pd.DataFrame(rng.normal(size=(60, 2)), columns=["[bold]a", "b"])
    frame["[/]"] = rng.choice(["[red]u", "v"], 60)
    frame["[/x]"] = "same"
    frame.to_csv(tmp_path / "my [dim] rows.csv", index=False)
    result = compare("my [dim] rows.csv", "--target", "[/]", *FAST)
    assert result.exit_code == 0, result.output
    assert "my [dim] rows: 60 rows" in result.stdout
    assert "do not vary: [/x]" in result.stdout
    assert (tmp_path / "bochner-results" / "my-dim-rows" / "results.json").exists()


def test_sparse_rows(compare, tmp_path, rng):
    X = sparse.random(200, 150, density=0.1, random_state=0, format="csr")
    dump_svmlight_file(X, np.where(X.sum(axis=1).A1 > 7.5, 1, -1), str(tmp_path / "words.svm"))
    result = compare("words.svm", *QUICK)
    assert result.exit_code == 0, result.stderr
    assert "200 rows, 150 columns, 2 classes" in result.stdout
    assert "failed" not in result.stdout


def test_numbers_and_a_sample(compare, tmp_path, rng):
    X = rng.normal(size=(5000, 2))
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(price=X[:, 0] ** 2)
    frame.to_csv(tmp_path / "prices.csv", index=False)
    result = compare("prices.csv", *FAST, "--max-rows", "500")
    assert result.exit_code == 0, result.stderr
    assert "the last column, price, is taken" in result.stdout
    assert "5000 rows in the file, 500 drawn at random" in result.stdout
    document = json.loads((tmp_path / "bochner-results/prices/results.json").read_text())
    assert document["measure"]["name"] == "R2"
    assert document["pictures"]["plane"]["names"] == ["a", "b"]


def test_a_second_run_measures_only_what_is_new(compare, tmp_path):
    folder = tmp_path / "bochner-results" / "iris"
    assert compare("iris", *FAST).exit_code == 0
    first = cells_of(folder)
    result = compare("iris", *FAST, "--widths", "8,16")
    assert "2 of 4 results were found on file" in result.stdout
    assert cells_of(folder)[:2] == first
    assert len(cells_of(folder)) == 4
    # other settings are other cells
    result = compare("iris", *FAST, "--gamma", "0.5")
    assert "found on file" not in result.stdout
    assert len(cells_of(folder)) == 6
    result = compare("iris", *FAST, "--fresh")
    assert "found on file" not in result.stdout
    assert len(cells_of(folder)) == 2


def test_a_changed_file_is_measured_again(compare, tmp_path):
    lines = [f"{i % 7},{i % 3},{i % 2}\n" for i in range(80)]
    (tmp_path / "rows.csv").write_text("a,b,y\n" + "".join(lines))
    assert compare("rows.csv", *FAST).exit_code == 0
    assert "2 of 2 results were found on file" in compare("rows.csv", *FAST).stdout
    lines[5] = "100,0,1\n"
    (tmp_path / "rows.csv").write_text("a,b,y\n" + "".join(lines))
    assert "found on file" not in compare("rows.csv", *FAST).stdout


SLOW = ("wine", "--method", "MarginFourierFeatures", "--widths", "8,16,24,32,40", "--seeds", "2")


def test_killed_and_run_again(compare, tmp_path):
    """Finished cells are kept and not measured twice, whatever was being written."""
    file = tmp_path / "bochner-results" / "wine" / "cells.jsonl"
    process = subprocess.Popen(
        command(*SLOW, "--jobs", "1"),
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _wait_for(lambda: file.exists() and file.read_text().count("\n") >= 2)
    process.kill()
    process.wait()
    before = file.read_text()
    n_before = before.count("\n")
    with file.open("a") as opened:
        opened.write('{"cell": {"study": "cut sh')  # as if killed while writing
    result = compare(*SLOW, "--jobs", "1")
    assert result.exit_code == 0, result.output
    assert f"{n_before} of 10 results were found on file" in result.stdout
    after = file.read_text()
    assert after.startswith(before)
    lines = [line for line in after.splitlines() if not line.endswith("cut sh")]
    cells = [json.dumps(json.loads(line)["cell"], sort_keys=True) for line in lines]
    assert len(cells) == len(set(cells)) == 10


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_interrupted(tmp_path, jobs):
    """Ctrl-C keeps what is finished, shows it, and exits with 130."""
    folder = tmp_path / "bochner-results" / "wine"
    process = subprocess.Popen(
        command(*SLOW, "--jobs", jobs),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    file = folder / "cells.jsonl"
    _wait_for(lambda: file.exists() and file.read_text().count("\n") >= 1)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    assert "as it was interrupted" in output
    assert "the same command goes on from here" in output
    document = json.loads((folder / "results.json").read_text())
    assert document["interrupted"]
    assert document["command"].startswith("bochner compare wine --method MarginFourierFeatures")
    assert len(document["cells"]) == len(cells_of(folder)) < 10


@pytest.mark.parametrize("lost", ["chosen", "n_test", "errors", "transform", "guarantee"])
def test_cells_on_file_that_lack_something(compare, tmp_path, lost):
    """They are measured again."""
    assert compare("iris", *FAST).exit_code == 0
    file = tmp_path / "bochner-results" / "iris" / "cells.jsonl"
    whole = cells_of(file.parent)
    for wrong in ("absent", {"name": 3}, [[1]]):
        records = json.loads(json.dumps(whole))
        records[0]["details"][lost] = wrong
        if wrong == "absent":
            del records[0]["details"][lost]
        file.write_text("".join(f"{json.dumps(record)}\n" for record in records))
        result = compare("iris", *FAST)
        assert result.exit_code == 0, result.output
        is_right = lost == "chosen" and isinstance(wrong, dict)
        assert ("1 of 2 results were found" in result.stdout) != is_right


def test_a_disk_that_is_full(compare, tmp_path, monkeypatch):
    def full(self, path, line):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Notebook, "_append", full)
    result = compare("iris", *FAST)
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert "cells.jsonl cannot be written: No space left on device" in result.stderr


def test_a_folder_that_cannot_be_written_to(compare, tmp_path, monkeypatch):
    """Said before anything is measured."""
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    result = compare("iris", *FAST)
    assert result.exit_code == 2
    assert "cannot be kept in bochner-results/iris: it cannot be written to" in result.stderr
    assert not result.stdout


def test_time_budget(compare, tmp_path):
    result = compare("iris", *QUICK, "--time-budget", "0")
    assert result.exit_code == 2
    assert "13 of 13 cells, as the time budget was spent" in result.stdout
    assert compare("iris", *FAST).exit_code == 0
    result = compare("iris", *QUICK, "--time-budget", "0")
    assert result.exit_code == 0
    assert "11 of 13 cells, as the time budget was spent" in result.stdout
    assert "MercerFeatures" in result.stdout


def test_the_best_map_is_widened_while_the_time_lasts(compare, tmp_path):
    given = ("digits", "--method", "FourierFeatures", "--widths", "4,8", "--max-rows", "400")
    given += ("--seeds", "2", "--jobs", "1")
    result = compare(*given)
    assert "still gets better with the width" in " ".join(result.stdout.split())
    assert {cell["cell"]["width"] for cell in cells_of(tmp_path / DIGITS)} == {4, 8}
    result = compare(*given, "--time-budget", "20")
    widths = {cell["cell"]["width"] for cell in cells_of(tmp_path / DIGITS)}
    assert {4, 8, 16} < widths
    assert "still gets better" not in result.stdout or "spent" in result.stdout


def test_what_is_far_behind_is_measured_once_unless_asked(compare, tmp_path):
    given = ("wine", "--method", "FourierFeatures", "--widths", "2,60", "--jobs", "1")
    result = compare(*given, "--seeds", "2")
    assert "further splits of 1 line, far behind or there as a reference" in " ".join(
        result.stdout.split()
    )
    found = [(cell["cell"]["width"], cell["cell"]["seed"]) for cell in cells_of(tmp_path / WINE)]
    assert found == [(2, 0), (60, 0), (60, 1)]
    result = compare(*given, "--seeds", "2", "--every-split")
    assert "further splits" not in result.stdout
    assert len(cells_of(tmp_path / WINE)) == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "there is no file and no dataset 'nothing'"),
        (["iriz"], "did you mean iris?"),
        (["absent.csv"], "there is no file and no dataset 'absent.csv'"),
        (["empty.csv"], "the file empty.csv is empty"),
        (["one.csv"], "one class only, x"),
        (["rows.csv", "--target", "labl"], "there is no column 'labl'"),
        (["same.csv"], "no column to learn from"),
        (["."], "no column 'since' in one.csv"),
        (["iris", "--widths", "7"], "even numbers from 2 on, got 7"),
        (["iris", "--widths", "a,b"], "whole numbers of at least 1, separated by commas"),
        (["iris", "--method", "Magic"], "there is no method 'Magic'"),
        (["iris", "--measure", "luck"], "measure must be one of"),
        (["iris", "--task", "ranking"], "task must be one of"),
        (["iris", "--device", "moon"], "--device moon "),
        (["iris", "--gamma", "-1"], "--gamma must be a positive finite number"),
        (["iris", "--method", "Nystroem", "--widths", "1000"], "there is nothing to measure"),
        (["iris", "--output", "rows.csv"], "cannot be kept in rows.csv: that is a file"),
        (["iris", "--output", "rows.csv/below"], "cannot be kept in rows.csv/below: that is a"),
        (["iris", "--widths", "100000000"], "--widths must be at most 1000000, got 100000000"),
        (["iris", "--method", "mercer"], "did you mean MercerFeatures?"),
        (["rows.csv", "--target", "0"], "Positions count from 1"),
        (["dates.csv", "--target", "since"], "the target 'since' holds dates"),
        (["iris", "--image-shape", "big"], "HEIGHTxWIDTH or HEIGHTxWIDTHxCHANNELS"),
        (["iris", "--image-shape", "0x4"], "sides of an image must be at least 1"),
        (["iris", "--image-shape", "2x3"], "images of 2 x 3 have 6 numbers, but iris has 4 col"),
        (["iris", "--method", "convolutionalkernelnetwork"], "Network is for images: give their"),
        (
            ["digits", "--method", "ConvolutionalKernelNetwork", "--widths", "8,18"],
            "a multiple of 4 is needed, from 16 on",
        ),
    ],
)
def test_mistakes_give_one_line(compare, tmp_path, arguments, message):
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "one.csv").write_text("a,y\n" + "1,x\n" * 30)
    (tmp_path / "rows.csv").write_text("size,label\n" + "1,x\n2,y\n" * 20)
    (tmp_path / "same.csv").write_text("size,label\n" + "1,x\n1,y\n" * 20)
    days = pd.date_range("2020-01-01", periods=90).repeat(2)
    pd.DataFrame({"a": range(180), "since": days}).to_csv(tmp_path / "dates.csv", index=False)
    result = compare(*arguments)
    assert result.exit_code == 2, result.output
    assert message in result.stderr
    assert "Errno" not in result.stderr
    assert result.stderr.startswith("bochner: ")
    assert result.stderr.count("\n") == 1


def test_columns_that_fill_the_memory(compare, monkeypatch):
    features_twice, frequencies = 2 * 8 * 150 * (1000 + 4), 8 * 4 * 1000
    monkeypatch.setattr(
        commands.console, "memory_limit", lambda: (features_twice + frequencies + 100) / 0.8
    )
    result = compare("iris", *FAST, "--widths", "8,1002")
    assert result.exit_code == 2
    assert "--widths 1002: a map of 150 rows and 4 columns would take" in result.stderr
    assert "0.00245 GB" in result.stderr
    assert not result.stdout
    two = compare("iris", *FAST, "--widths", "1000", "--jobs", "2")
    assert "in 2 processes would take about 0.00488 GB" in two.stderr
    assert compare("iris", *FAST, "--method", "RBFSampler", "--widths", "1000").exit_code == 0


def test_every_question_has_its_folder(compare, tmp_path):
    rows = "".join(f"{i % 7},{i % 3},{i % 2}\n" for i in range(80))
    (tmp_path / "rows.csv").write_text("a,b,y\n" + rows)
    (tmp_path / "iris.csv").write_text("a,b,y\n" + rows)
    (tmp_path / "many").mkdir()
    (tmp_path / "many" / "part-0.csv").write_text("a,b,y\n" + rows)
    lines = "".join(f"{i % 2} 1:{i % 7} 2:{i % 3}\n" for i in range(80))
    for name in ("rows.svm", "rows.libsvm"):
        (tmp_path / name).write_text(lines)
    for arguments, folder in (
        (["rows.csv"], "rows"),
        (["rows.csv", "--target", "b"], "rows-b"),
        (["rows.csv", "--target", "1"], "rows-a"),
        (["rows.svm"], "rows-svm"),
        (["rows.libsvm"], "rows-libsvm"),
        (["iris"], "iris"),
        (["iris.csv"], "iris-csv"),
        (["many/*.csv", "--target", "y"], "many-y"),
    ):
        assert not (tmp_path / "bochner-results" / folder).exists()
        result = compare(*arguments, "--method", "RBFSampler", *QUICK)
        assert result.exit_code == 0, result.output
        assert (tmp_path / "bochner-results" / folder / "results.json").exists()


def test_a_mistake_in_a_process_of_its_own(tmp_path):
    result = subprocess.run(
        command("absent.csv"), cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert result.returncode == 2
    assert result.stderr.startswith("bochner: there is no file")
    assert result.stderr.count("\n") == 1


def test_no_device(compare):
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device")
    result = compare("iris", "--device", "cuda")
    assert result.exit_code == 2
    assert "--device cuda cannot be used: " in result.stderr
    assert result.stderr.count("\n") == 1


def test_results_without_the_page(compare, tmp_path, monkeypatch):
    """Where the page's packages are missing, a line says so and the results are there."""
    monkeypatch.setitem(sys.modules, "bochner.report", None)
    result = compare("iris", *FAST)
    assert result.exit_code == 0, result.output
    assert "No page: it needs" in result.output
    assert (tmp_path / "bochner-results/iris/results.json").exists()


def test_a_failing_method_is_reported(compare, tmp_path, monkeypatch):
    from bochner.mercer.features import MercerFeatures

    def fit(self, X, y=None):
        raise RuntimeError("out of luck")

    monkeypatch.setattr(MercerFeatures, "fit", fit)
    result = compare("iris", *FAST)
    assert result.exit_code == 0, result.output
    assert "MercerFeatures 8, split 1 failed: RuntimeError: out of luck" in result.output
    assert "Use FourierFeatures" in result.output
    assert len(cells_of(tmp_path / "bochner-results" / "iris")) == 1


def _wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.02)
