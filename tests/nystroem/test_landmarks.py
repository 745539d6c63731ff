import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans

from bochner import NystroemFeatures, engine
from bochner.engine.places import to_numpy
from bochner.kernels import Exponential, Gaussian
from bochner.nystroem import landmarks
from bochner.nystroem.landmarks import LANDMARKS, choose_landmarks, diagonal, leverage_scores
from bochner.nystroem.normalization import normalize
from tests.places import PLACES

COUNTED = [rule for rule in LANDMARKS if rule != "all"]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("rule", COUNTED)
def test_as_many_as_asked_for_in_every_place(rule, place):
    X = np.random.default_rng(0).normal(size=(60, 4))
    chosen = choose_landmarks(
        rule, PLACES[place](X), 7, Gaussian(gamma=0.3), np.random.RandomState(0)
    )
    assert chosen.shape == (7, 4)
    if rule != "kmeans":
        rows = chosen.toarray() if sparse.issparse(chosen) else chosen
        assert {tuple(row) for row in rows} <= {tuple(row) for row in X}


@pytest.mark.parametrize("place", PLACES)
def test_all_rows_in_their_order(place):
    X = np.random.default_rng(0).normal(size=(60, 4))
    rows = choose_landmarks("all", PLACES[place](X), 7, None, np.random.RandomState(0))
    np.testing.assert_array_equal(rows.toarray() if sparse.issparse(rows) else rows, X)


@pytest.mark.parametrize("rule", LANDMARKS)
def test_all_rows_where_there_are_no_more(rule):
    X = np.random.default_rng(0).normal(size=(9, 2))
    assert len(choose_landmarks(rule, X, 20, Gaussian(gamma=0.3), np.random.RandomState(0))) == 9


@pytest.mark.parametrize("place", ["numpy", "torch"])
def test_lloyd_is_kmeans_step_by_step(place, monkeypatch):
    monkeypatch.setattr(landmarks, "_TILE_ROWS", 37)
    X = np.random.default_rng(0).normal(size=(300, 3))
    first = np.vstack([X[:11], np.full((1, 3), 50.0)])  # the last is nearest to no row
    move = PLACES[place]
    found = to_numpy(landmarks.lloyd(move(X), move(first), 4))
    np.testing.assert_allclose(found[-1], first[-1], rtol=1e-14)
    expected = KMeans(11, init=first[:11], n_init=1, max_iter=4, tol=0).fit(X).cluster_centers_
    np.testing.assert_allclose(found[:-1], expected, rtol=1e-10)


def test_lloyd_of_rows_far_from_the_origin():
    X = np.round(np.random.default_rng(0).normal(size=(300, 3)), 2).astype(np.float32)
    far = X + np.float32(4096)
    X = far - np.float32(4096)  # what is left of them
    near, found = (landmarks.lloyd(rows, rows[:11], 4) for rows in (X, far))
    np.testing.assert_allclose(found - 4096, near, atol=1e-3)


def test_rows_on_a_device_stay_there(monkeypatch):
    X = np.random.default_rng(0).normal(size=(300, 3))
    seen = []

    def lloyd(rows, centroids, n_steps):
        seen.append(rows)
        return -centroids

    monkeypatch.setattr(landmarks, "on_cuda", lambda X: True)
    monkeypatch.setattr(landmarks, "lloyd", lloyd)
    found = choose_landmarks("kmeans", X, 20, None, np.random.RandomState(0))
    np.testing.assert_array_equal(seen[0], X)  # all of them
    assert {tuple(row) for row in -found} <= {tuple(row) for row in X}  # where it begins
    assert len(np.unique(found, axis=0)) == 20


def test_leverage_is_that_of_the_kernel_matrix():
    X = np.random.default_rng(0).normal(size=(80, 2))
    kernel = Exponential(gamma=0.4)
    scores = leverage_scores(X, 80, kernel, np.random.RandomState(0))  # all are pilots: exact
    K = kernel(X)
    ridge = 2 * np.linalg.eigvalsh(K)[:40].sum() / 80
    exact = np.diagonal(np.linalg.solve(K + ridge * np.eye(80), K))
    np.testing.assert_allclose(scores, exact, rtol=1e-6)


def test_leverage_and_kmeans_cover_more_of_rows_of_unequal_density():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(1900, 3)) * 0.1, rng.normal(size=(100, 3)) * 3])
    kernel, left = Gaussian(gamma=0.5), {}
    for rule in COUNTED:
        sums = []
        for seed in range(5):
            Z = choose_landmarks(rule, X, 60, kernel, np.random.RandomState(seed))
            R = normalize(kernel(Z), 1e-12).matrix
            sums.append(
                len(X) - np.square(engine.kernel_rows(X, Z, kernel, normalization=R)).sum()
            )
        left[rule] = np.mean(sums)
    assert left["leverage"] < 0.6 * left["random"]
    assert left["kmeans"] < 0.6 * left["random"]


def test_the_diagonal_of_a_kernel_of_ones_own():
    X = np.random.default_rng(0).normal(size=(150, 3))
    np.testing.assert_allclose(diagonal(lambda X, Y: X @ Y.T, X), np.square(X).sum(axis=1))
    np.testing.assert_array_equal(diagonal(Gaussian(gamma=1.0), X), 1)


def test_many_centroids_have_few_steps_and_are_better_than_rows(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 4))
    steps = []

    class Watched(KMeans):
        def fit(self, X, y=None):
            steps.append((self.init, self.max_iter))
            return super().fit(X)

    monkeypatch.setattr("sklearn.cluster.KMeans", Watched)
    monkeypatch.setattr("bochner.nystroem.landmarks._KMEANS_WORK", 3.5 * 1500 * 300 * 4)
    left = {
        rule: NystroemFeatures(300, landmarks=rule, random_state=0).fit(X).residual(X).mean()
        for rule in ("random", "kmeans")
    }
    assert steps == [("random", 3)]
    assert left["kmeans"] < 0.9 * left["random"]
