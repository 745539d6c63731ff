import numpy as np
import pytest

from bochner import LandmarkSimilarities
from bochner.fourier import strength
from bochner.fourier.strength import best_steps, best_strength, held_out_errors
from tests.linear.naive import ridge_of_least_criterion


def test_errors_are_those_of_a_ridge_regression_of_least_criterion(rng):
    Phi, held = rng.normal(size=(30, 6)), rng.normal(size=(9, 6))
    Y, Y_held = Phi[:, :2] + rng.normal(size=(30, 2)), held[:, :2]
    best = ridge_of_least_criterion(Phi, Y)
    expected = ((best.predict(held) - Y_held) ** 2).sum(axis=1)
    np.testing.assert_allclose(held_out_errors(Phi, Y, held, Y_held), expected, rtol=1e-8)


class FakeTrial:
    """Errors of three held-out rows, as given for steps and strengths."""

    def __init__(self, by_steps, by_strength):
        self.errors_by_steps, self.by_strength, self.asked = by_steps, by_strength, []

    def followed(self, n_steps):
        def errors(beta):
            self.asked.append((n_steps, beta))
            return self.by_strength(n_steps, beta) + np.array([0.0, 0.001, -0.001])

        return errors


class TestBestSteps:
    def test_the_fewest_that_are_as_good_as_any_and_less(self):
        trial = FakeTrial({1: 0.9, 2: 0.8, 4: 0.504, 8: 0.5, 16: 0.6}, None)
        assert best_steps([trial]) == [4, 2, 1]

    def test_the_sum_of_all_trials_decides_among_what_all_have_seen(self):
        first = FakeTrial({1: 0.5, 2: 0.6, 4: 0.7}, None)
        second = FakeTrial({1: 0.9, 2: 0.2, 4: 0.3, 8: 0.1}, None)
        assert best_steps([first, second]) == [2, 1]

    def test_one_without_a_trial(self):
        assert best_steps([]) == [1]
        assert best_strength([], [1]) == (1, 0.0)


class TestBestStrength:
    def test_goes_along_the_list(self):
        trial = FakeTrial({}, lambda n_steps, beta: 1 + (np.log10(beta + 1e-9) + 2) ** 2)
        assert best_strength([trial], [8]) == (8, 0.01)

    def test_fewer_steps_where_their_first_strength_is_better(self):
        def by_strength(n_steps, beta):
            return 0.5 if not beta else {8: 0.4, 4: 0.25, 1: 1.0}[n_steps] - 0.01 * beta

        trial = FakeTrial({}, by_strength)
        assert best_strength([trial], [8, 4, 1])[0] == 4
        # what is not better at once is not looked at further
        assert [beta for n_steps, beta in trial.asked if n_steps == 1] == [1.0]

    def test_the_plain_kernel_unless_another_is_clearly_better(self):
        noise = {0.0: np.zeros(3), 0.1: np.array([-3.0, 2.0, 0.5])}
        trial = FakeTrial({}, lambda n_steps, beta: noise.get(beta, np.ones(3)))
        assert best_strength([trial], [2]) == (2, 0.0)


@pytest.mark.parametrize("n_rows", [30, 100])
def test_few_rows_are_all_held_out_once(n_rows, monkeypatch, rng):
    monkeypatch.setattr(strength, "_FEW_ROWS", 50)
    held = []
    make = strength.Trial.of_rows.__func__

    def of_rows(cls, candidates, X, y, target, place, split, **options):
        held.append(split[1])
        return make(cls, candidates, X, y, target, place, split, **options)

    monkeypatch.setattr(strength.Trial, "of_rows", classmethod(of_rows))
    X, y = rng.normal(size=(n_rows, 3)), np.arange(n_rows) % 2
    LandmarkSimilarities(n_components=4, n_frequencies=8, random_state=0).fit(X, y)
    assert len(held) == (4 if n_rows == 30 else 1)
    if n_rows == 30:
        np.testing.assert_array_equal(np.sort(np.concatenate(held)), np.arange(30))
