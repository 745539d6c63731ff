"""Commands as a person gives them, run in this process, and the data they are given."""

import functools
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from typer.testing import CliRunner

from bochner.cli.app import app


def table(n, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.normal(40, 10, n).round(2),
            "town": rng.choice(["Ulm", "Bonn", "Rom"], n),
            "code": rng.choice(["01", "02", "x"], n),
            "owner": rng.random(n) < 0.5,
            "name": [f"person {i}" for i in range(n)],
        }
    )
    frame.loc[frame.index % 9 == 0, "age"] = np.nan
    frame.loc[frame.index % 11 == 0, "town"] = None
    buys = (frame["age"].fillna(40) > 42) ^ (frame["town"] == "Ulm")
    return frame.assign(buys=np.where(buys, "yes", "no"))


def images(n_rows=400):
    digits = load_digits(n_class=4)
    return digits.images[:n_rows].astype(np.uint8), digits.target[:n_rows]


def run(*arguments):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


FOURIER = ("--method", "FourierFeatures")


def fit(*arguments):
    """A model of a method, unless another is given: it trains in no time."""
    small = (*FOURIER, "--width", 32)
    result = run("fit", "train.csv", "--target", "buys", *small, *arguments)
    assert result.exit_code == 0, result.output
    return result


def trained():
    """Writes what `fit` does of these rows; it is trained once."""
    Path("model.skops").write_bytes(_trained(Path("train.csv").read_bytes()))


@functools.cache
def _trained(rows):
    fit()
    return Path("model.skops").read_bytes()


def refused(result, *words):
    """One line on stderr, and the exit code of a mistake."""
    assert result.exit_code == 2
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("bochner: ")
    for word in words:
        assert word in lines[0]
