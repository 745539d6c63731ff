import numpy as np
import pytest

from bochner.models.settings import Labelled, loss_slope, losses_of


@pytest.mark.parametrize("task", ["regression", "classification"])
@pytest.mark.parametrize("n_columns", [1, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_slopes_of_losses_are_differences(task, n_columns, weighted, rng):
    decisions, slopes = rng.normal(size=(2, 60, n_columns))
    targets = rng.normal(size=(60, n_columns))
    if task == "classification":
        own = np.argmax(targets, axis=1)[:, None] == np.arange(n_columns)
        targets = np.sign(targets) if n_columns == 1 else np.where(own, 1.0, -1.0)
    held = Labelled(None, None, targets, rng.random(60) if weighted else None)

    def loss(step):
        losses = losses_of(decisions + step * slopes, held, task)[1]
        return np.average(losses, weights=held.weights)

    difference = (loss(1e-5) - loss(-1e-5)) / 2e-5
    assert loss_slope(decisions, slopes, held, task) == pytest.approx(difference, rel=1e-6)
