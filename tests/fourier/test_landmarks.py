from functools import partial

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, make_classification, make_regression
from sklearn.linear_model import Ridge, RidgeClassifier

from bochner import LandmarkSimilarities
from bochner.fourier.strength import held_out_errors
from bochner.guarantees import ConditionsNotMet
from tests.feature_map_case import FeatureMapCase
from tests.fourier.naive import landmark_loss
from tests.guarantees.simulation import allowed
from tests.places import PLACES


class TestRandom(FeatureMapCase):
    unit_norm = False
    estimator = LandmarkSimilarities(n_components=9, landmarks="random", beta=1.0)


class TestChosenStrength(FeatureMapCase):
    unit_norm = False
    estimator = LandmarkSimilarities(n_components=9, landmarks="random", n_frequencies=16)


class TestOwnFrequencies(FeatureMapCase):
    unit_norm = False
    estimator = LandmarkSimilarities(
        n_components=9, landmarks="random", frequencies="own", n_frequencies=16
    )


class TestPlain(FeatureMapCase):
    unit_norm = False
    estimator = LandmarkSimilarities(n_components=9, landmarks="random", posterior=None)


class TestCentroids(FeatureMapCase):
    unit_norm = False
    estimator = LandmarkSimilarities(n_components=9, n_frequencies=16, beta=1.0)
    # k-means on sparse rows takes other steps than on dense ones
    fit_agrees = ("numpy", "fortran", "strided", "torch", "strict", "dask", "float32", "table")


def naive_transform(fitted, X):
    """Every similarity as the sum in its definition."""
    D = fitted.n_frequencies
    W = np.hstack([block for _, block in fitted._posteriors.candidates.blocks()])
    W = W.reshape(len(W), -1, D)
    result = np.empty((len(X), len(fitted.landmarks_)))
    for index, landmark in enumerate(fitted.landmarks_):
        result[:, index] = np.cos((landmark - X) @ W[:, index]) @ fitted.posterior_[index]
    return result


@pytest.mark.parametrize("kind", ["binary", "multiclass", "regression"])
@pytest.mark.parametrize("where", ["random", "given", "given rows"])
def test_losses_and_transform_are_the_definition(kind, where, rng):
    X = rng.normal(size=(25, 3))
    y = {"binary": np.arange(25) % 2, "multiclass": np.arange(25) % 3}.get(kind, X[:, 0] ** 2)
    landmarks = "random"
    if where == "given":
        landmarks = (rng.normal(size=(6, 3)), y[[3, 1, 4, 2, 5, 0]])
    elif where == "given rows":  # four of them: they are not paired with themselves
        points = np.vstack([X[:4], rng.normal(size=(2, 3))])
        landmarks = (points, y[:6])
    fitted = LandmarkSimilarities(
        n_components=6,
        landmarks=landmarks,
        frequencies="own",
        n_frequencies=5,
        gamma=0.5,
        random_state=0,
        beta=2.0,
    ).fit(X, y)
    W = np.hstack([block for _, block in fitted._posteriors.candidates.blocks()]).reshape(3, 6, 5)
    for index, (point, label) in enumerate(
        zip(fitted.landmarks_, fitted.landmark_labels_, strict=True)
    ):
        own = np.flatnonzero((point == X).all(axis=1))
        if kind == "regression":
            everything = np.concatenate([y, fitted.landmark_labels_])
            scale = np.abs(everything - y.mean()).max()
            similarities = (y - y.mean()) * (label - y.mean()) / scale**2
        else:
            similarities = np.where(y == label, 1.0, -1.0)
        for m in range(5):
            expected = landmark_loss(
                X, similarities, W[:, index, m], point, own[0] if own.size else None
            )
            assert fitted.losses_[index, m] == pytest.approx(expected, abs=1e-10)
    assert fitted.in_sample_.sum() == {"random": 6, "given": 0, "given rows": 4}[where]
    weights = np.exp(-2.0 * 5 * fitted.losses_)
    weights /= weights.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(fitted.posterior_, weights, atol=1e-12)
    np.testing.assert_allclose(fitted.transform(X), naive_transform(fitted, X), atol=1e-12)


def test_learned_similarities_help_among_useless_columns():
    """Three columns of twenty matter: the posterior prefers frequencies that look at these."""
    X, y = make_classification(
        2000, 20, n_informative=3, n_redundant=0, class_sep=1.5, random_state=0
    )
    gains = []
    for seed in range(12):
        order = np.random.RandomState(seed).permutation(len(X))
        train, test = order[:1300], order[1300:]
        scores = []
        for posterior in (None, "kl"):
            similarities = LandmarkSimilarities(
                n_components=20,
                landmarks="random",
                posterior=posterior,
                gamma=0.05,
                random_state=seed,
            ).fit(X[train], y[train])
            model = RidgeClassifier(alpha=1e-3).fit(similarities.transform(X[train]), y[train])
            scores.append(model.score(similarities.transform(X[test]), y[test]))
        gains.append(scores[1] - scores[0])
    assert np.mean(gains) > 3 * np.std(gains, ddof=1) / np.sqrt(len(gains))


def test_regression():
    X, y = make_regression(n_samples=300, n_features=5, random_state=0)
    fitted = LandmarkSimilarities(n_components=60, beta=5.0, random_state=0).fit(X, y)
    assert fitted.classes_ is None
    model = Ridge(alpha=1e-3).fit(fitted.transform(X[:200]), y[:200])
    assert model.score(fitted.transform(X[200:]), y[200:]) > 0.5


class TestNumbers:
    def test_a_share_is_rounded_up(self, rng):
        X, y = rng.normal(size=(31, 2)), np.arange(31) % 2
        assert LandmarkSimilarities(n_components=0.1).fit(X, y).transform(X).shape == (31, 4)

    def test_more_landmarks_than_rows(self, rng):
        with pytest.raises(ValueError, match="asks for 40 landmarks, but there are only 30 rows"):
            LandmarkSimilarities(n_components=40).fit(rng.normal(size=(30, 2)), np.arange(30) % 2)

    @pytest.mark.parametrize("n_rows", [1, 20])
    def test_constant_numbers_are_an_error(self, n_rows, rng):
        X, y = rng.normal(size=(n_rows, 2)), np.full(n_rows, 0.5)
        with pytest.raises(ValueError, match="y is constant"):
            LandmarkSimilarities(n_components=1, target="regression").fit(X, y)


class TestGiven:
    X = np.random.default_rng(0).normal(size=(30, 3))
    y = np.arange(30) % 2

    def test_plain_needs_no_labels(self):
        fitted = LandmarkSimilarities(landmarks=self.X[:4], posterior=None, gamma=0.5)
        result = fitted.fit(self.X, self.y).transform(self.X)
        np.testing.assert_allclose(result, fitted.kernel_(self.X, self.X[:4]))

    def test_learned_needs_labels(self):
        with pytest.raises(ValueError, match=r"\(points, labels\)"):
            LandmarkSimilarities(landmarks=self.X[:4]).fit(self.X, self.y)

    def test_wrong_columns(self):
        with pytest.raises(ValueError, match="landmarks have 2 columns, but X has 3"):
            LandmarkSimilarities(landmarks=self.X[:4, :2], posterior=None).fit(self.X, self.y)

    def test_unknown_label(self):
        with pytest.raises(ValueError, match="not in classes"):
            LandmarkSimilarities(landmarks=(self.X[:2], [0, 5])).fit(self.X, self.y)

    def test_duplicates_are_kept(self):
        points = np.repeat(self.X[:1], 3, axis=0)
        fitted = LandmarkSimilarities(landmarks=(points, [0, 0, 0]), random_state=0)
        assert fitted.fit(self.X, self.y).transform(self.X).shape == (30, 3)


class TestBound:
    X, y = load_digits(return_X_y=True)

    @pytest.fixture(params=["shared", "own"], autouse=True)
    def frequencies(self, request):
        self.kind = request.param

    def fit(self, **parameters):
        defaults = {"n_components": 5, "landmarks": "random", "gamma": 1e-4, "random_state": 0}
        defaults["frequencies"] = self.kind
        return LandmarkSimilarities(**defaults | parameters).fit(self.X, self.y % 2)

    def test_one_for_each_landmark(self):
        bounds = self.fit().bound(0.1)
        assert len(bounds) == 5
        assert all(bound.observed < bound.value <= 1 for bound in bounds)
        assert "of the map's own similarity" in str(bounds[0])
        assert ("pool" in bounds[0].details) == (self.kind == "shared")

    @pytest.mark.parametrize("share", [0.5, 0.3, 0.1, 0.03])
    def test_says_nothing_of_labels_that_know_nothing(self, share):
        """Similarities that are -1 or 1 nearly everywhere do well if the classes are unequal."""
        found = 0
        for seed in range(20):
            rng = np.random.default_rng(seed)
            X, y = 0.1 * rng.normal(size=(1000, 1)), rng.random(1000) < share
            learned = LandmarkSimilarities(
                n_components=5,
                landmarks="random",
                frequencies=self.kind,
                gamma=0.1,
                beta=10.0,
                random_state=seed,
            ).fit(X, y)
            found += any(bound.informative for bound in learned.bound(0.05))
        assert found / 20 <= allowed(20, 0.05)

    def test_rows_of_ones_own_are_worth_one_pair_less(self):
        y = self.y % 2
        rows = self.fit(landmarks=(self.X[:5], y[:5]))
        assert rows.in_sample_.all()
        assert f"on {len(y) - 1} pairs" in str(rows.bound()[0])
        points = self.X[:5].copy()
        points[:4] += 0.5
        mixed = self.fit(landmarks=(points, y[:5]))
        assert mixed.in_sample_.sum() == 1
        assert f"on {len(y) - 1} pairs" in str(mixed.bound()[0])

    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"landmarks": "kmeans"}, "centroids of k-means"),
            ({"gamma": "scale"}, "read off the same rows"),
            ({"posterior": None}, "learns nothing"),
        ],
    )
    def test_refused_where_it_does_not_hold(self, parameters, message):
        with pytest.raises(ConditionsNotMet, match=message):
            self.fit(**parameters).bound()


@pytest.mark.parametrize("place", PLACES)
def test_own_rows_are_found_in_every_place(place, rng):
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 2
    points, labels = np.vstack([X[:4], X[4:6] + 1e-9]), np.r_[y[:3], 1 - y[3], y[4:6]]
    learned = LandmarkSimilarities(landmarks=(points, labels), n_frequencies=4, random_state=0)
    learned.fit(PLACES[place](X), y)
    assert learned.in_sample_.sum() == 3  # not the one with another label


@pytest.mark.parametrize(
    "wrong",
    [
        {"n_components": 0},
        {"n_components": 1.5},
        {"beta": 0},
        {"beta": "best"},
        {"frequencies": "common"},
        {"n_frequencies": "many"},
        {"n_frequencies": 0},
        {"landmarks": "best"},
        {"posterior": "chi2"},
    ],
)
def test_parameters(wrong, rng):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        LandmarkSimilarities(**wrong).fit(rng.normal(size=(30, 2)), np.arange(30) % 2)


def test_many_blocks_of_landmarks(monkeypatch, rng):
    from bochner.fourier import candidates

    X, y = rng.normal(size=(40, 3)), np.arange(40) % 3
    monkeypatch.setattr(candidates, "_BLOCK_BYTES", 8 * 3 * 8 * 2)  # two landmarks a block
    fitted = LandmarkSimilarities(
        n_components=9, frequencies="own", n_frequencies=8, landmarks="random", random_state=0
    ).fit(X, y)
    np.testing.assert_allclose(fitted.transform(X), naive_transform(fitted, X), atol=1e-12)


def test_sparse_rows_with_many_columns():
    X = sparse.random(
        60, 20_000, 0.002, format="csr", dtype=np.float32, random_state=np.random.default_rng(0)
    )
    fitted = LandmarkSimilarities(
        n_components=4, landmarks="random", n_frequencies=50, gamma=1e-2, random_state=0
    )
    result = fitted.fit_transform(X, np.arange(60) % 2)
    assert result.shape == (60, 4)
    assert result.dtype == np.float32
    assert sparse.issparse(fitted.landmarks_)


class TestWithPosterior:
    @pytest.mark.parametrize("frequencies", ["shared", "own"])
    def test_is_a_fit_with_this_strength(self, frequencies, rng):
        X, y = rng.normal(size=(40, 3)), np.arange(40) % 3
        make = partial(
            LandmarkSimilarities,
            n_components=5,
            n_frequencies=8,
            frequencies=frequencies,
            random_state=0,
        )
        first = make().fit(X, y)
        before = first.transform(X)
        changed = first.with_posterior(beta=30.0)
        anew = make(beta=30.0, n_fit_steps=first.n_fit_steps_)
        np.testing.assert_array_equal(changed.transform(X), anew.fit_transform(X, y))
        np.testing.assert_array_equal(first.transform(X), before)
        assert changed.beta == changed.beta_ == 30.0

    def test_needs_a_posterior_and_a_strength(self, rng):
        X, y = rng.normal(size=(40, 3)), np.arange(40) % 2
        plain = LandmarkSimilarities(n_components=5, posterior=None).fit(X, y)
        with pytest.raises(ValueError, match="no posterior to change"):
            plain.with_posterior(beta=1.0)
        learned = LandmarkSimilarities(n_components=5).fit(X, y)
        with pytest.raises(ValueError, match="beta"):
            learned.with_posterior(beta=-1.0)
        with pytest.raises(ValueError, match="beta='auto' needs the data"):
            learned.with_posterior(beta="auto")


def test_landmarks_too_large_to_compute_with():
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2
    with pytest.raises(ValueError, match="too large to compute with"):
        LandmarkSimilarities(landmarks=X[:3] * 1e200, posterior=None).fit(X, y)


@pytest.mark.parametrize("landmarks", ["kmeans", "random"])
def test_text_is_no_target_of_regression(landmarks):
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.array(["a", "b"] * 20)
    with pytest.raises(ValueError, match=r"target='regression' needs numbers, but y holds .* a;"):
        LandmarkSimilarities(landmarks=landmarks, target="regression").fit(X, y)
    with pytest.raises(ValueError, match="needs numbers"):
        LandmarkSimilarities(landmarks=(X[:2], y[:2]), target="regression").fit(X, X[:, 0])


@pytest.mark.parametrize(
    ("n_landmarks", "n_columns", "expected"),
    [(4, 2, 2000), (1300, 2, 1000), (2604, 2, 512), (4, 20_000, 800), (4, 60_000, 512)],
)
def test_size_of_the_pool(n_landmarks, n_columns, expected):
    X = sparse.random(n_landmarks, n_columns, 0.01, format="csr", random_state=0)
    y = np.arange(n_landmarks) % 2
    learned = LandmarkSimilarities(landmarks=(X, y), gamma=1.0)
    learned.kernel_, learned.landmarks_, learned.n_features_in_ = None, X, n_columns
    assert learned._draw(np.random.RandomState(0)).n == expected


class TestStrength:
    def test_labels_that_know_nothing_leave_the_plain_kernel(self):
        chosen = []
        for seed in range(10):
            rng = np.random.default_rng(seed)
            X, y = rng.normal(size=(200, 4)), rng.integers(0, 2, 200)
            learned = LandmarkSimilarities(n_components=10, random_state=seed).fit(X, y)
            chosen.append(learned.beta_)
            if not learned.beta_:
                plain = LandmarkSimilarities(n_components=10, posterior=None, random_state=seed)
                np.testing.assert_array_equal(learned.transform(X), plain.fit(X, y).transform(X))
                assert np.ptp(learned.posterior_) == 0
        assert sum(beta > 0 for beta in chosen) <= 4  # one in six, or rather fewer

    def test_the_least_strength_is_nearly_the_plain_kernel(self, rng):
        X, y = rng.normal(size=(60, 4)), np.arange(60) % 3
        make = partial(LandmarkSimilarities, n_components=10, random_state=0)
        learned, plain = make(beta=1e-9), make(posterior=None)
        assert np.abs(learned.fit_transform(X, y) - plain.fit_transform(X, y)).max() < 1e-8

    def test_own_sets_have_the_papers(self, rng):
        X, y = rng.normal(size=(40, 3)), np.arange(40) % 2
        learned = LandmarkSimilarities(n_components=5, frequencies="own").fit(X, y)
        assert learned.beta_ == 1.0
        assert learned.posterior_.shape == (5, 64)

    @pytest.mark.parametrize(
        "y",
        [
            np.r_[np.zeros(58), 1, 2],  # classes of one row
            np.r_[np.zeros(59), 0.5],  # numbers that may be constant in what is kept
            np.arange(60) / 7,
        ],
    )
    @pytest.mark.parametrize("landmarks", ["kmeans", "random", "given"])
    def test_few_of_a_kind(self, y, landmarks, rng):
        X = rng.normal(size=(60, 3))
        given = (X[-6:], y[-6:]) if landmarks == "given" else landmarks
        for seed in range(4):
            fitted = LandmarkSimilarities(n_components=6, landmarks=given, random_state=seed)
            assert np.isfinite(fitted.fit_transform(X, y)).all()

    @pytest.mark.parametrize("seed", [0, 1, 4])
    def test_no_landmark_is_a_held_out_row_while_strengths_are_tried(self, seed):
        """An outlier among these would be a column of zeros to the rows of the fit."""
        rng = np.random.default_rng(seed)
        X = rng.standard_t(1.5, size=(600, 3))
        y = np.tanh(X[:, 0]) + 0.1 * rng.normal(size=600)
        errors = []
        for posterior in (None, "kl"):
            each = LandmarkSimilarities(
                n_components=60, posterior=posterior, gamma=1.0, random_state=0
            ).fit(X[:300], y[:300])
            train, test = each.transform(X[:300]), each.transform(X[300:])
            errors.append(held_out_errors(train, y[:300, None], test, y[300:, None]).mean())
        assert errors[1] < 0.95 * errors[0]
