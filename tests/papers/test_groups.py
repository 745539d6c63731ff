import pytest

from bochner.papers.groups import Groups, detail, fit_seconds, score
from bochner.records.cells import Cell, Result


def result(method, width, seed, accuracy, task="wine"):
    cell = Cell("s", task, method, width, seed)
    return Result(cell, accuracy, 2.0, 3.0, {"C": 10.0 * seed})


@pytest.fixture
def groups():
    return Groups(
        [
            *(result("ours", 20, seed, 0.8 + seed / 10) for seed in range(2)),
            *(result("ours", 10, seed, 0.7) for seed in range(2)),
            result("random", 20, 1, 0.6),
            result("svm", None, 0, 0.5),
            result("random", 40, 0, 0.6, "iris"),
        ]
    )


def test_axes(groups):
    assert (groups.tasks, groups.methods, groups.n_seeds) == (
        ["wine", "iris"],
        ["ours", "random", "svm"],
        2,
    )
    assert groups.xs() == [10, 20, 40]
    assert groups.xs("wine") == groups.xs("wine", "ours") == [10, 20]
    assert groups.xs(method="random") == [20, 40]
    assert groups.over() == "mean ± standard error over 2 seeds"
    assert groups.heading("wine", "split") == "wine"
    assert groups.heading("iris", "split") == "iris, 1 split"


def test_numbers_and_means(groups):
    assert groups.numbers("wine", "ours", 20) == pytest.approx([80, 90])
    assert groups.numbers("wine", "ours", 20, detail("C")) == [0, 10]
    assert str(groups.mean("wine", "ours", 20, form=".1f")) == "85.0 ± 5.0"
    assert str(groups.mean("wine", "svm", of=fit_seconds)) == "2.00"
    assert groups.mean("iris", "ours", 20).number is None


def test_differences_are_of_the_same_seed(groups):
    assert groups.differences("wine", 20, "ours", "random") == pytest.approx([30])
    # What has no width is compared with every width.
    assert groups.differences("wine", 10, "ours", "svm", score) == pytest.approx([0.2])
    claim = groups.compare("ours is better", "ours", "svm")
    assert claim.checked == 2
    assert not claim.exceptions
    assert groups.compare("it is not", "random", "ours").exceptions == ["wine 20: -30"]


def test_curves(groups):
    ours, random, svm = groups.curves("wine", suffix=" x")
    assert (ours.name, ours.x, ours.y) == ("ours x", (10, 20), pytest.approx((70, 85)))
    assert random.x == (20,)
    assert svm is None
    drawn = groups.chart("wine", "columns", "accuracy", log_y=True)
    assert [series.name for series in drawn.series] == ["ours", "random"]
    assert drawn.log_x
    assert drawn.log_y
