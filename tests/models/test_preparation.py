"""Columns of any kind, made numbers."""

import datetime

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from bochner.data.columns import USED_KINDS, column_kinds
from bochner.models import preparation
from bochner.models.preparation import (
    MOST_CATEGORIES,
    PixelScaler,
    TreeColumns,
    make_preparation,
    make_tree_preparation,
    preparation_notes,
)
from tests.data.mixed import mixed_frame


@pytest.fixture
def frame(rng):
    return mixed_frame(rng)


def test_prepared_columns(frame):
    prepare = make_preparation(frame).fit(frame)
    Z = prepare.transform(frame)
    names = [name.partition("__")[2] for name in prepare.get_feature_names_out()]
    assert Z.shape == (300, len(names))
    assert np.isfinite(Z).all()
    column = dict(zip(names, Z.T, strict=True))
    for name in ("number", "gaps", "said", "date", "missingindicator_gaps"):
        assert abs(column[name].mean()) < 1e-9
        assert column[name].std() == pytest.approx(1)
    np.testing.assert_allclose(column["said"], column["date"])
    np.testing.assert_array_equal(column["few_(missing)"], frame["few"].isna())
    assert not any(name.startswith(("id", "same", "nothing")) for name in names)
    assert sum(name.startswith("many") for name in names) <= MOST_CATEGORIES


def test_new_rows(frame):
    """Categories never seen, gaps where there were none, and other columns do no harm."""
    prepare = make_preparation(frame).fit(frame)
    new = frame.iloc[:4].copy()
    new["few"] = ["a", "never seen", None, "b"]
    new["number"] = [np.nan, 1, 2, 3]
    new["said"] = ["2020-01-01", "no date", None, "2021-05-05"]
    new = new[list(new.columns[::-1])].assign(extra=1)
    assert np.isfinite(prepare.transform(new)).all()


def test_wide_categories_stay_sparse(rng):
    frame = pd.DataFrame(
        {f"c{i}": rng.choice([f"v{j}" for j in range(40)], 400) for i in range(20)}
    )
    assert sparse.issparse(make_preparation(frame).fit_transform(frame))


def test_arrays(rng):
    X = rng.normal(2, 5, size=(50, 3))
    X[3, 1] = np.nan
    X = np.column_stack([X, np.ones(50)])
    Z = make_preparation(X).fit_transform(X)
    assert Z.shape == (50, 4)  # the constant is gone, where column 1 was missing is there
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(Z.std(axis=0), 1)


@pytest.mark.parametrize("kind", [np.uint8, np.float32, np.float64, "table", "sparse"])
def test_pixels_share_one_scale(kind, rng, monkeypatch):
    monkeypatch.setattr(preparation, "_PIXEL_ROWS", 7)  # pieces
    pixels = rng.integers(0, 250, size=(30, 12)).astype(np.uint8)
    pixels[:, 3] = 0  # never drawn on
    pixels[1:, 4] = 7
    if kind == "table":
        X = pd.DataFrame(pixels, columns=[f"p{i}" for i in range(12)])
    else:
        X = sparse.csr_matrix(pixels, dtype=float) if kind == "sparse" else pixels.astype(kind)
    prepare = make_preparation(X, (3, 4, 1))
    Z = prepare.fit_transform(X)
    expected = (pixels - pixels.mean()) / pixels.std()
    assert isinstance(Z, np.ndarray)
    assert Z.shape == expected.shape
    assert Z.dtype == (np.float32 if kind is np.float32 else np.float64)
    np.testing.assert_allclose(Z, expected, rtol=1e-5 if kind is np.float32 else 1e-12)
    if kind not in ("table", "sparse"):
        np.testing.assert_array_equal(X, pixels)  # not changed in place
    names = list(prepare.get_feature_names_out())
    assert names == ([f"p{i}" for i in range(12)] if kind == "table" else names)


def test_missing_and_equal_pixels():
    X = np.array([[1.0, np.nan], [3.0, np.nan]])
    assert PixelScaler().fit_transform(X).tolist() == [[-1.0, 0.0], [1.0, 0.0]]
    assert PixelScaler().fit_transform(np.full((4, 2), 0.1)).tolist() == [[0.0, 0.0]] * 4
    assert PixelScaler().fit_transform(np.full((4, 2), np.nan)).tolist() == [[0.0, 0.0]] * 4
    assert preparation_notes(X, (1, 2, 1))[0].startswith("Images of 1 x 2 pixels: all")
    assert "8 x 9 pixels, 3 channels" in preparation_notes(X, (8, 9, 3))[0]


def test_pixels_follow_the_rules_of_scikit_learn():
    check_estimator(PixelScaler())


def test_sparse_stays_sparse(rng):
    X = sparse.random(50, 20, density=0.2, random_state=0, format="csr") * 7
    Z = make_preparation(X).fit_transform(X)
    assert sparse.issparse(Z)
    assert abs(Z).max() == pytest.approx(1)


def test_nothing_to_learn_from():
    with pytest.raises(ValueError, match=r"no column to learn from.*same \(constant\)"):
        make_preparation(pd.DataFrame({"same": [1, 1, 1]}))


def test_rows_that_do_not_vary():
    with pytest.raises(ValueError, match="no column to learn from"):
        make_preparation(np.ones((5, 3)))


def test_notes(frame):
    notes = " ".join(preparation_notes(frame))
    for expected in (
        "do not vary: same, nothing",
        "value of their own: id",
        "Dates made numbers, in days: said, date",
        "zeros and ones: few, many",
        "filled in, with a column that says where: gaps, few",
    ):
        assert expected in notes
    assert preparation_notes(np.ones((3, 2))) == ()
    many = pd.DataFrame({f"c{i}": [1, 1] for i in range(12)})
    assert preparation_notes(many)[0].endswith("c7 and 4 more.")


def test_cloning(frame):
    prepare = make_preparation(frame)
    np.testing.assert_array_equal(
        clone(prepare).fit_transform(frame), prepare.fit_transform(frame)
    )


@pytest.mark.parametrize("kind", ["text", "dates", "stamps"])
def test_dates_beyond_nanoseconds(kind):
    days = ["9999-12-31", "1600-05-05", "1970-01-02", "2020-01-01"]
    column = {
        "text": days,
        "dates": [datetime.date.fromisoformat(day) for day in days],
        "stamps": np.array(days, dtype="datetime64[s]"),
    }[kind]
    found = preparation.DaysSinceEpoch().fit_transform(pd.DataFrame({"when": column}))
    assert found.ravel().tolist() == np.array(days, dtype="datetime64[D]").astype(int).tolist()


def test_an_array_without_a_column_that_varies():
    for dtype in (np.float64, np.uint8, bool):
        with pytest.raises(ValueError, match="no column to learn from: none of 3 varies"):
            make_preparation(np.ones((9, 3), dtype))


def test_trees_are_given_gaps_and_categories(frame):
    prepare = make_tree_preparation(frame).fit(frame)
    made = prepare.transform(frame)
    assert list(made) == [name for name, kind in column_kinds(frame).items() if kind in USED_KINDS]
    for name, kind in prepare.kinds_.items():
        assert (made[name].dtype == "category") == (kind == "category")
        assert (
            made[name].isna().equals(frame[name].isna().reset_index(drop=True)) or kind == "date"
        )
    category = next(name for name, kind in prepare.kinds_.items() if kind == "category")
    assert prepare.transform(frame.assign(**{category: "never seen"}))[category].isna().all()
    rows = np.array([[1.0, np.nan]])
    assert make_tree_preparation(rows).fit_transform(rows) is rows


def test_trees_have_the_most_frequent_categories(rng):
    names = [f"c{i:03}" for i in range(300)]
    column = [*names, *names[:200]] * 2
    frame = pd.DataFrame({"name": column, "x": rng.normal(size=len(column))})
    made = TreeColumns().fit_transform(frame)["name"]
    assert set(names[:200]) <= set(made.cat.categories)
    assert len(made.cat.categories) <= 250
    assert made.isna().any()
