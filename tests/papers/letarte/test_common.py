import warnings
from functools import partial

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import LinearSVC

from bochner.data.local import LOCAL, LocalDataset
from bochner.linear import SquaredHingeClassifier
from bochner.papers.letarte import common, table2
from bochner.papers.letarte.common import authors_split, linear_path, pool_split, tune


def test_published_tables_agree_in_their_names():
    assert set(common.PUBLISHED) == set(table2.PUBLISHED)
    assert set(common.PUBLISHED) <= set(LOCAL)
    assert {len(row) for row in common.PUBLISHED.values()} == {len(common.PUBLISHED_COLUMNS)}
    assert set(common.FILES) == set(common.DATASETS) - {"breast"}


def test_split_has_the_published_sizes(breast):
    split = authors_split(breast, 42)
    assert split.sizes == table2.PUBLISHED["breast"]
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
    model = tune([(0.0, scaled)], split, 0.5, linear_path)
    assert model.test_error < 0.05
    assert model.C in common.PENALTIES
    assert model.gamma == 0.5


@pytest.mark.parametrize("solver", common.SOLVERS)
def test_linear_model_that_does_not_converge_is_no_warning(solver, breast):
    # Unscaled columns; warnings are errors here.
    split = authors_split(breast, 42)
    path = partial(linear_path, seed=0, penalties=[1e4], solver=solver)
    model = tune([(0.0, FunctionTransformer())], split, 0.5, path)
    assert model.test_error < 0.5


def test_the_optimum_is_lower_than_where_liblinear_stops():
    """Of similarities that are nearly equal, a small gradient does not mean a small loss."""
    rng = np.random.default_rng(0)
    signs = np.where(np.arange(300) % 2, 1, -1)
    X = 1 - 1e-3 * rng.random((300, 40)) - 1e-4 * signs[:, None]
    (ours,) = linear_path(X, signs, penalties=[1e4])

    def objective(model):
        rest = np.maximum(0, 1 - signs * model.decision_function(X))
        return (model.coef_**2).sum() / 2 + 1e4 * rest @ rest

    for solver in (LinearSVC(C=1e4, max_iter=5000), LinearSVC(C=1e4, dual=True, max_iter=1000)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            assert objective(ours) < objective(solver.fit(X, signs))
    assert objective(ours) < 1.001 * objective(
        SquaredHingeClassifier(C=1e4, tol=1e-11).fit(X, signs)
    )
