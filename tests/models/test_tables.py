import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from bochner import KernelClassifier, KernelRegressor
from bochner.models.tables import fit_preparation

pd = pytest.importorskip("pandas", reason="pandas is not installed")

pytestmark = pytest.mark.usefixtures("one_split", "quick_metric")
FAST = {"n_components": 40, "kernel": "gaussian", "scaling": "standard", "random_state": 0}


@pytest.fixture
def frame(rng):
    n = 200
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "colour": rng.choice(["red", "green", "blue"], n),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
            "same": 1.0,
            "name": [f"row {i}" for i in range(n)],
        }
    )
    frame.loc[::9, "size"] = np.nan
    return frame


def labels(frame):
    return np.where((frame["colour"] == "red") | (frame["size"].fillna(0) > 1), "yes", "no")


def test_a_table_with_categories_dates_and_gaps(frame):
    y = labels(frame)
    model = KernelClassifier(**FAST).fit(frame[:150], y[:150])
    assert model.score(frame[150:], y[150:]) > 0.9
    assert model.n_features_in_ == 5
    np.testing.assert_array_equal(model.feature_names_in_, frame.columns)
    assert model.columns_ == [
        "size", "missingindicator_size", "day", "colour_blue", "colour_green", "colour_red",
    ]  # fmt: skip
    assert model.importances_.shape == (6,)
    assert model.columns_[np.argmax(model.importances_)] in ("colour_red", "size")
    np.testing.assert_array_equal(model.pipeline_.predict(frame), model.predict(frame))
    assert "medians and categories taken from all rows" in model.certificate_.assumptions


def test_unknown_categories_and_new_gaps(frame):
    model = KernelClassifier(**FAST).fit(frame, labels(frame))
    new = frame[:3].assign(colour=["violet", None, "red"], size=[np.nan, 1.0, np.nan])
    assert set(model.predict(new)) <= {"yes", "no"}


def test_numbers(frame):
    y = frame["size"].fillna(0) + (frame["colour"] == "red")
    model = KernelRegressor(**FAST).fit(frame, y)
    assert model.score(frame, y) > 0.9


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_arrays_with_gaps(rng, dtype):
    X = rng.normal(size=(150, 3)).astype(dtype)
    y = X[:, 0] > 0
    X[::5, 1] = np.nan
    model = KernelClassifier(**FAST).fit(X, y)
    assert model.score(X, y) > 0.9
    assert model.preparation_ is not None
    assert model.n_features_in_ == 3


def test_a_gap_is_the_median_with_a_flag(rng):
    X = rng.normal(size=(60, 2))
    y = np.where(np.isin(np.arange(60) % 3, (0,)), 1, 0)
    X[y == 1, 0] = np.nan  # what is missing says it all
    model = KernelClassifier(**FAST).fit(X, y)
    assert model.score(X, y) == 1


def test_rows_of_numbers_are_left_alone(rng):
    X = rng.normal(size=(50, 3))
    for rows in (X, X.tolist(), pd.DataFrame(X), sparse.csr_array(X), (X > 0)):
        assert fit_preparation(rows) is None
    y = X[:, 0] > 0
    plain, table = (KernelClassifier(**FAST).fit(rows, y) for rows in (X, pd.DataFrame(X)))
    np.testing.assert_array_equal(plain.decision_function(X), table.decision_function(X))
    assert table.preparation_ is None
    assert table.columns_ is None
    with pytest.raises(ValueError, match="NaN"):
        plain.predict(np.full((2, 3), np.nan))


def test_nullable_numbers_truth_values_and_polars(rng):
    X = rng.normal(size=(80, 2))
    y = X[:, 0] > 0
    table = pd.DataFrame({"a": X[:, 0], "b": X[:, 1] > 0}).convert_dtypes()
    table.loc[3, "a"] = pd.NA
    assert KernelClassifier(**FAST).fit(table, y).score(table, y) > 0.9

    class Table:  # of another library
        def to_pandas(self):
            return pd.DataFrame({"a": X[:, 0], "b": np.where(X[:, 1] > 0, "x", "y")})

    assert fit_preparation(Table()) is not None


def test_infinite_entries_are_refused(frame):
    frame.loc[0, "size"] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        KernelClassifier(**FAST).fit(frame, labels(frame))


def test_tables_without_a_column_to_learn_from():
    frame = pd.DataFrame({"same": ["x"] * 300, "name": [f"row {i}" for i in range(300)]})
    with pytest.raises(ValueError, match="no column to learn from"):
        KernelClassifier().fit(frame, np.arange(300) % 2)


def test_a_fit_that_fails_leaves_an_unfitted_model(frame):
    model = KernelClassifier(**FAST).fit(frame, labels(frame))
    with pytest.raises(ValueError, match="one class only"):
        model.fit(frame, ["yes"] * len(frame))
    assert not hasattr(model, "pipeline_")


def test_scikit_learns_tools(frame):
    y = labels(frame)
    assert cross_val_score(clone(KernelClassifier(**FAST)), frame, y, cv=2).mean() > 0.85


def test_trained_again(frame):
    y = labels(frame)
    model = KernelClassifier(**FAST).fit(frame[:150], y[:150])
    assert model.trained_again(frame, y).score(frame, y) > 0.9
