"""Configurations drawn at random: what `python -m benchmarks fuzz` tries, a few of them."""

import numpy as np
import pytest

pytest.importorskip("dask.array", reason="dask is not installed")
pytest.importorskip("torch", reason="PyTorch is not installed")

from benchmarks import fuzz


def test_a_few_configurations():
    outcomes = [fuzz.run(number) for number in range(40)]
    assert [outcome for outcome in outcomes if outcome.failure is not None] == []
    assert 10 < sum(outcome.error is None for outcome in outcomes) < 40


def test_the_number_decides():
    assert fuzz.run(7) == fuzz.run(7)


def _warned(X):
    np.log(np.zeros(1))
    return np.zeros((X.shape[0], 32))


@pytest.mark.parametrize(
    ("wrong", "failure"),
    [
        (lambda X: {}["key"], "foreign type: KeyError"),
        (lambda X: np.linalg.inv(np.zeros((2, 2))), "foreign type: LinAlgError"),
        (lambda X: float("text"), "foreign message: ValueError"),
        (lambda X: np.full((X.shape[0], 32), np.nan), "NaN: "),
        (lambda X: np.zeros((X.shape[0], 3)), "shape: "),
        (_warned, "warning: RuntimeWarning divide by zero"),
    ],
)
def test_what_is_a_failure(monkeypatch, wrong, failure):
    number = 2  # FourierFeatures with 32 columns
    assert fuzz.run(number) == fuzz.Outcome(fuzz.run(number).description)
    monkeypatch.setattr("bochner.FourierFeatures.transform", lambda self, X: wrong(X))
    assert fuzz.run(number).failure.startswith(failure)
