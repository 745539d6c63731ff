import numpy as np
import pytest

from bochner.models.families import choose_families
from bochner.models.ranking import Ranking, clearly_worse, of_each_kind
from bochner.models.settings import Setting, Tried

GAUSSIAN, *_, EXPONENTIAL, LAPLACIAN = choose_families()
KERNELS = [GAUSSIAN.kernel, EXPONENTIAL.kernel, LAPLACIAN.kernel]
CLASSES, NUMBERS = (Ranking(task, KERNELS) for task in ("classification", "regression"))


def tried(losses, n_wrong=0, family=GAUSSIAN, weights=None):
    losses = np.asarray(losses, dtype=float)
    wrong = np.arange(len(losses)) < n_wrong
    setting = Setting("none", None, family, 1.0, 32)
    score = 1 - n_wrong / len(losses)
    return Tried(setting, score, losses, wrong, losses[:, None], weights, 9, 0.0)


def test_errors_are_counted_where_margins_cannot_be_compared():
    squares, hinge = tried([0.1, 0.2, 0.1, 0.2], n_wrong=3), tried([0.9, 0.8, 0.9, 0.8], n_wrong=1)
    assert clearly_worse(hinge, squares, 0.5)
    assert clearly_worse(squares, hinge, 0.5, counted=True)


def test_rows_without_weight_do_not_count():
    weights = np.repeat([1.0, 0.0], 50)
    one = tried(np.repeat([0.3, 9.0], 50), weights=weights)
    top = tried(np.repeat([0.3, 1.0], 50), weights=weights)
    assert not clearly_worse(one, top, 0.5)
    assert clearly_worse(tried(one.losses), tried(top.losses), 0.5)


def test_a_simpler_one_that_is_as_good_is_the_best_of_classes():
    losses = np.linspace(0, 2, 100)
    up_and_down = np.where(np.arange(100) % 2, 0.1, -0.1)
    simple, hardly, clearly = map(tried, (losses, losses + up_and_down - 1e-3, losses - 0.1))
    assert hardly.loss < simple.loss
    assert CLASSES.best([simple, hardly]) is simple
    assert NUMBERS.best([simple, hardly]) is hardly
    assert CLASSES.best([simple, clearly]) is clearly


def test_the_simplest_of_equals_wins():
    losses = np.linspace(0, 1, 50)
    finalists = [tried(losses, family=family) for family in (LAPLACIAN, GAUSSIAN, EXPONENTIAL)]
    assert CLASSES.winner(finalists) is finalists[1]


def test_being_right_clearly_more_often_counts_at_last(rng):
    best = tried(rng.uniform(0, 0.1, 1000), n_wrong=40)
    unsure = rng.uniform(0.2, 0.3, 1000)
    hardly, right = (tried(unsure, n, family=EXPONENTIAL) for n in (39, 20))
    assert CLASSES.winner([best, hardly]) is best
    assert CLASSES.winner([best, right]) is right
    assert NUMBERS.winner([best, right]) is best


@pytest.mark.parametrize(("n_kept", "errors", "n_left"), [(4, 9.0, 4), (2, 9.0, 3), (4, 0.0, 2)])
def test_those_close_to_the_best_go_on_and_the_winner(n_kept, errors, n_left, rng):
    noise = rng.normal(size=(3, 1000))
    found = [tried(1 + 0.1 * k + noise[k], n_wrong=400) for k in range(3)]
    right = tried(rng.uniform(1.9, 2.0, 1000), n_wrong=20)
    kept = CLASSES.going_on([right, *found], n_kept, errors)
    assert len(kept) == n_left
    assert kept[0] is found[0]
    assert kept[-1] is right


def test_the_best_kernel_of_each_kind_goes_on():
    """Of distances, and of sums over columns: kinds gain differently from more rows."""
    found = [
        tried(np.full(9, loss), family=family)
        for family, loss in [(LAPLACIAN, 3.0), (GAUSSIAN, 1.0), (LAPLACIAN, 2.0)]
    ]
    assert of_each_kind(found[1:2], found) == found[1:]
    assert of_each_kind(found[1:], found) == found[1:]
