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


def _warned(X, width):
    np.log(np.zeros(1))
    return np.zeros((X.shape[0], width))


@pytest.fixture(scope="module")
def number():
    """A configuration of FourierFeatures in which nothing is wrong."""
    for number in range(1000):
        outcome = fuzz.run(number)
        if outcome == fuzz.Outcome(outcome.description) and (
            outcome.description.startswith("FourierFeatures(")
        ):
            return number
    raise AssertionError("there is none")


@pytest.mark.parametrize(
    ("wrong", "failure"),
    [
        (lambda X, width: {}["key"], "foreign type: KeyError"),
        (lambda X, width: np.linalg.inv(np.zeros((2, 2))), "foreign type: LinAlgError"),
        (lambda X, width: float("text"), "foreign message: ValueError"),
        (lambda X, width: np.full((X.shape[0], width), np.nan), "NaN: "),
        (lambda X, width: np.zeros((X.shape[0], width + 1)), "shape: "),
        (_warned, "warning: RuntimeWarning divide by zero"),
    ],
)
def test_what_is_a_failure(monkeypatch, wrong, failure, number):
    monkeypatch.setattr(
        "bochner.FourierFeatures.transform", lambda self, X: wrong(X, self.n_components)
    )
    assert fuzz.run(number).failure.startswith(failure)
