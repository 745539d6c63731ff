from functools import partial

import numpy as np
import pytest
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from bochner.data.local import LOCAL, LocalDataset
from bochner.papers.letarte import common
from bochner.papers.letarte.common import authors_split, liblinear_path, pool_split, tune

# Table 2 of the paper: rows to train, to validate, to test, and columns.
PUBLISHED_SIZES = {
    "ads": (1967, 492, 820, 1554),
    "adult": (26048, 6513, 16281, 108),
    "breast": (340, 86, 143, 30),
    "farm": (2485, 622, 1036, 54877),
    "mnist17": (9101, 2276, 3793, 784),
    "mnist49": (8268, 2068, 3446, 784),
    "mnist56": (7912, 1979, 3298, 784),
}


def test_published_tables_agree_in_their_names():
    assert set(common.PUBLISHED) == set(PUBLISHED_SIZES)
    assert set(common.PUBLISHED) <= set(LOCAL)
    assert {len(row) for row in common.PUBLISHED.values()} == {len(common.PUBLISHED_COLUMNS)}
    assert set(common.FILES) == set(common.DATASETS) - {"breast"}


def test_split_has_the_published_sizes(breast):
    split = authors_split(breast, 42)
    assert split.sizes == PUBLISHED_SIZES["breast"]
    assert split.n_available == 340


def test_fixed_test_part_is_kept(breast):
    X_test, y_test = breast.X_train[:7], breast.y_train[:7]
    data = LocalDataset("fixed", breast.X_train[7:107], breast.y_train[7:107], X_test, y_test)
    split = authors_split(data, 42)
    assert split.sizes == (80, 20, 7, 30)
    assert split.X_test is X_test


def test_cut_leaves_the_other_rows_alone(breast):
    whole, cut = authors_split(breast, 3), authors_split(breast, 3, 100)
    assert cut.sizes == (100, 86, 143, 30)
    assert cut.n_available == 340
    np.testing.assert_array_equal(whole.X_valid, cut.X_valid)
    np.testing.assert_array_equal(whole.X_test, cut.X_test)
    rows = {row.tobytes() for row in whole.X_train}
    assert {row.tobytes() for row in cut.X_train} <= rows


def test_pool_split():
    data = LocalDataset("pool", np.arange(20.0)[:, None], np.ones(20, dtype=np.int64))
    split = pool_split(data, 0, n_train=8, n_valid=4, n_test=100)
    assert split.sizes == (8, 4, 8, 1)
    parts = np.concatenate([split.X_train, split.X_valid, split.X_test])
    assert sorted(parts.ravel()) == list(range(20))
    with pytest.raises(ValueError, match="pool has 20 rows, too few for 16 \\+ 4"):
        pool_split(data, 0, n_train=16, n_valid=4, n_test=1)


def test_linear_model(breast):
    split = authors_split(breast, 42)
    scaled = StandardScaler().fit(split.X_train)
    model = tune([(0.0, scaled)], split, 0.5, partial(liblinear_path, seed=0))
    assert model.test_error < 0.05
    assert model.C in common.PENALTIES
    assert model.gamma == 0.5


@pytest.mark.parametrize("solver", common.SOLVERS)
def test_linear_model_that_does_not_converge_is_no_warning(solver, breast):
    # Unscaled columns; warnings are errors here.
    split = authors_split(breast, 42)
    path = partial(liblinear_path, seed=0, penalties=[1e4], solver=solver)
    model = tune([(0.0, FunctionTransformer())], split, 0.5, path)
    assert model.test_error < 0.5
