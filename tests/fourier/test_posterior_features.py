from functools import partial
from typing import get_args

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge, RidgeClassifier

from bochner import FourierFeatures, PosteriorFourierFeatures
from bochner.fourier import candidates, posterior_features
from bochner.fourier.alignment import alignment_sums
from bochner.fourier.posterior import gibbs_posterior
from bochner.fourier.posterior_features import Draw
from bochner.guarantees import ConditionsNotMet
from tests.callbacks import Watch
from tests.feature_map_case import FeatureMapCase
from tests.fourier.naive import alignment_loss, centred_score, label_similarity
from tests.guarantees.simulation import allowed
from tests.memory import peak_of
from tests.places import PLACES


class TestAuto(FeatureMapCase):
    estimator = PosteriorFourierFeatures(n_components=20, n_candidates=200)
    unit_norm = True


class TestKL(FeatureMapCase):
    estimator = PosteriorFourierFeatures(
        n_components=20, n_candidates=200, draw="without_replacement"
    )
    unit_norm = True


class TestChiSquareHeaviest(FeatureMapCase):
    estimator = PosteriorFourierFeatures(
        n_components=20, n_candidates=200, divergence="chi2", draw="heaviest", kernel="laplacian"
    )
    unit_norm = True


class TestContinuous(FeatureMapCase):
    estimator = PosteriorFourierFeatures(n_components=20, support="continuous")
    unit_norm = True
    # Chains magnify rounding: 200 steps, accepted or rejected, from slightly different sums.
    fit_agrees = ("numpy",)


def digits():
    X, y = load_digits(return_X_y=True)
    return X / 16, y


DEFAULTS = {"n_components": 20, "n_candidates": 300, "gamma": 0.5, "random_state": 0}


def fit(X, y, draw="without_replacement", **parameters):
    return PosteriorFourierFeatures(**DEFAULTS | {"draw": draw} | parameters).fit(X, y)


def test_losses_and_posterior_are_the_definition(rng):
    X, y = rng.normal(size=(15, 3)), rng.integers(3, size=15)
    fitted = fit(X, y, n_candidates=20, beta=2.0, criterion="alignment")
    W = np.hstack([block for _, block in fitted._candidates.blocks()])
    expected = [alignment_loss(X, label_similarity(y, "classes"), w) for w in W.T]
    np.testing.assert_allclose(fitted.losses_, expected, rtol=0, atol=1e-10)
    np.testing.assert_allclose(fitted.posterior_, gibbs_posterior(expected, 2.0, 15), atol=1e-12)
    centred = fitted.with_posterior(criterion="centred")
    losses = (1 - np.array([centred_score(X, y, w) for w in W.T])) / 2
    np.testing.assert_array_equal(centred.losses_, fitted.losses_)
    np.testing.assert_allclose(centred.scores_, 1 - 2 * losses, rtol=0, atol=1e-10)
    np.testing.assert_allclose(centred.posterior_, gibbs_posterior(losses, 2.0, 15), atol=1e-12)


@pytest.mark.parametrize("shares", [np.full(26, 1 / 26), [0.9, 0.1]])
def test_the_mean_of_the_label_similarity_does_not_decide(shares):
    """Many classes would prefer high frequencies and unequal ones low ones, without a reason."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 2))
    y = rng.choice(len(shares), p=shares, size=2000)  # says nothing of the rows
    learned = fit(X, y, n_candidates=2000, n_components=400)
    prior = np.sqrt(np.pi / 2)  # the mean norm of a standard normal vector in the plane
    error = np.sqrt((2 - np.pi / 2) / 200)
    for score, follows in (("centred", True), ("alignment", False)):
        norms = np.linalg.norm(learned.with_posterior(criterion=score).frequencies_, axis=0)
        assert (abs(norms.mean() - prior) < 3 * error) == follows


@pytest.mark.parametrize("classes", [lambda r: (26 * r).astype(int), lambda r: r > 0.9])
def test_chi2_finds_the_direction_of_many_or_unequal_classes(classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 2))
    y = classes(X[:, 0].argsort().argsort() / 2000)  # by the first column alone
    learned = fit(X, y, n_candidates=2000, n_components=200, divergence="chi2", rho=0.001)
    along = {}
    for score in ("centred", "alignment"):
        w = learned.with_posterior(criterion=score).frequencies_
        along[score] = (w[0] ** 2 / (w**2).sum(axis=0)).mean()  # 1/2 for the prior
    assert along["alignment"] < 0.65
    assert along["centred"] > 0.8


def test_few_learned_frequencies_beat_random_ones():
    X, y = digits()
    y = y % 2
    scores = []
    for seed in range(5):
        order = np.random.RandomState(seed).permutation(len(X))
        train, test = order[:1200], order[1200:]
        pair = []
        for features in (
            FourierFeatures(n_components=20, gamma=0.2, random_state=seed),
            PosteriorFourierFeatures(
                n_components=20, gamma=0.2, n_candidates=5000, random_state=seed
            ),
        ):
            A = features.fit(X[train], y[train]).transform(X[train])
            model = RidgeClassifier(alpha=1e-3).fit(A, y[train])
            pair.append(model.score(features.transform(X[test]), y[test]))
        scores.append(pair)
    gain = np.diff(scores, axis=1)
    assert gain.mean() > 3 * gain.std(ddof=1) / np.sqrt(len(gain)) > 0


class TestWithPosterior:
    def test_equals_a_new_fit(self):
        X, y = digits()
        changed = fit(X, y).with_posterior(beta=50.0, n_components=10)
        expected = fit(X, y, beta=50.0, n_components=10)
        np.testing.assert_array_equal(changed.transform(X), expected.transform(X))
        chi2 = fit(X, y).with_posterior(divergence="chi2", rho=0.05)
        expected = fit(X, y, divergence="chi2", rho=0.05)
        np.testing.assert_array_equal(chi2.transform(X), expected.transform(X))

    def test_leaves_the_original_alone(self):
        X, y = digits()
        original = fit(X, y)
        before = original.transform(X)
        original.with_posterior(beta=1e4)
        np.testing.assert_array_equal(original.transform(X), before)
        assert original.beta == 10.0

    @pytest.mark.parametrize("wrong", [{"gamma": 1.0}, {"beta": -1.0}, {"rho": -0.1}])
    def test_mistakes(self, wrong):
        X, y = digits()
        with pytest.raises(ValueError, match=next(iter(wrong))):
            fit(X, y).with_posterior(**wrong)


class TestPartialFit:
    @pytest.mark.parametrize("kind", ["classes", "numbers"])
    def test_parts_give_what_all_rows_give(self, kind, rng):
        X = rng.normal(size=(200, 4))
        y = rng.integers(3, size=200) if kind == "classes" else rng.normal(size=200)
        whole = fit(X, y)
        parts = PosteriorFourierFeatures(draw="without_replacement", **DEFAULTS)
        for part in np.array_split(np.arange(200), 7):
            classes = np.arange(3) if kind == "classes" else None
            parts.partial_fit(X[part], y[part], classes=classes)
        np.testing.assert_allclose(parts.losses_, whole.losses_, rtol=0, atol=1e-13)
        np.testing.assert_allclose(parts.transform(X), whole.transform(X), atol=1e-13)

    def test_fit_begins_anew(self, rng):
        X, y = rng.normal(size=(60, 4)), rng.integers(2, size=60)
        map_ = fit(X[:30], y[:30])
        np.testing.assert_array_equal(map_.fit(X, y).losses_, fit(X, y).losses_)

    def test_not_for_chains(self, rng):
        continuous = PosteriorFourierFeatures(support="continuous")
        for name in ("partial_fit", "with_posterior"):  # not shown where they can only refuse
            assert not hasattr(continuous, name)
            with pytest.raises(AttributeError, match=f"no attribute '{name}'"):
                getattr(continuous, name)


class TestChosenSet:
    """The default: frequencies that complement each other, where they help."""

    def test_noise_gives_the_random_map(self, rng):
        X, y = rng.normal(size=(300, 4)), rng.integers(3, size=300)
        learned = fit(X, y, draw="auto")
        assert learned.n_chosen_ == 0
        random = FourierFeatures(n_components=20, gamma=0.5, random_state=0).fit(X)
        np.testing.assert_array_equal(learned.transform(X), random.transform(X))
        np.testing.assert_array_equal(learned.drawn_, 300 + np.arange(10))

    @pytest.mark.parametrize("place", PLACES)
    def test_few_rows_give_the_random_map(self, place, rng):
        X, y = rng.normal(size=(12, 3)), np.arange(12) % 3
        assert fit(PLACES[place](X), y, draw="auto").n_chosen_ == 0

    def test_is_the_best_of_a_set_and_random_frequencies(self):
        X, y = digits()
        learned = fit(X, y, draw="auto", n_components=100)
        chosen = fit(X, y, draw="orthogonal", n_components=2 * learned.n_chosen_)
        random = FourierFeatures(n_components=100, gamma=0.5, random_state=0).fit(X)
        t = learned.n_chosen_
        assert 0 < t == chosen.n_chosen_
        np.testing.assert_array_equal(learned.frequencies_[:, :t], chosen.frequencies_)
        np.testing.assert_array_equal(learned.drawn_[:t], chosen.drawn_)
        rest = random.frequencies_[:, : 50 - t]
        np.testing.assert_array_equal(learned.frequencies_[:, t:], rest)

    @pytest.mark.parametrize("kind", ["classes", "numbers"])
    def test_beats_draws_and_random_frequencies(self, kind):
        X, y = digits()
        y = y if kind == "classes" else np.sin(y) + 0.0
        train, test = slice(1200), slice(1200, None)
        scores = {}
        for name, learned in {
            "random": FourierFeatures(n_components=20, gamma=0.2, random_state=0),
            "drawn": PosteriorFourierFeatures(**DEFAULTS | {"gamma": 0.2, "draw": "heaviest"}),
            "set": PosteriorFourierFeatures(**DEFAULTS | {"gamma": 0.2}),
        }.items():
            A = learned.fit(X[train], y[train]).transform(X[train])
            model = (RidgeClassifier if kind == "classes" else Ridge)(alpha=1e-3)
            scores[name] = model.fit(A, y[train]).score(learned.transform(X[test]), y[test])
        assert scores["set"] > max(scores["random"], scores["drawn"]) + 0.02

    def test_rows_of_weight_zero_are_removed_rows(self, rng):
        X, y = rng.normal(size=(200, 3)), rng.normal(size=200)
        y += 3 * np.sin(2 * X[:, 0])
        weights = rng.integers(3, size=200).astype(float)
        kept = weights > 0
        make = partial(PosteriorFourierFeatures, **DEFAULTS)
        found = make().fit(X, y, sample_weight=weights)
        expected = make().fit(X[kept], y[kept], sample_weight=weights[kept])
        assert found.n_chosen_ > 0
        np.testing.assert_array_equal(found.drawn_, expected.drawn_)
        orthogonal = make(draw="orthogonal").fit(X, y, sample_weight=weights)
        repeated = np.repeat(np.arange(200), weights.astype(int))
        expected = make(draw="orthogonal").fit(X[repeated], y[repeated])
        np.testing.assert_array_equal(orthogonal.drawn_, expected.drawn_)

    def test_a_posterior_follows_from_its_losses(self):
        X, y = digits()
        learned = fit(X, y, draw="auto")
        drawn, expected = learned.with_posterior(beta=50.0), fit(X, y, beta=50.0)
        assert drawn.draw == "without_replacement"
        assert not hasattr(drawn, "n_chosen_")
        np.testing.assert_array_equal(drawn.transform(X), expected.transform(X))
        assert drawn.bound().details["divergence"] == pytest.approx(np.log(310 / 10))
        with pytest.raises(ValueError, match="draw='auto' needs the rows"):
            expected.with_posterior(draw="auto")

    @pytest.mark.parametrize("draw", ["auto", "orthogonal"])
    def test_has_no_partial_fit(self, draw):
        learned = PosteriorFourierFeatures(draw=draw)
        assert hasattr(learned, "with_posterior")
        with pytest.raises(AttributeError, match="no attribute 'partial_fit'") as raised:
            learned.partial_fit  # noqa: B018
        assert f"draw='{draw}' looks at the rows several times" in str(raised.value.__cause__)

    def test_callbacks_are_told_of_every_pass(self, rng):
        X, y = rng.normal(size=(100, 2)), rng.normal(size=100)
        watch = Watch()
        learned = PosteriorFourierFeatures(n_components=4, n_candidates=50, random_state=0)
        learned.set_callbacks(watch).fit(X, y + 9 * X[:, 0])
        assert learned.n_chosen_ == 2
        assert watch.tasks == ["block of candidates", *["pass over the rows"] * 4, "fit"]


class TestDraw:
    def test_with_replacement_merges_repeats(self):
        X, y = digits()
        fitted = fit(X, y, draw="with_replacement", beta=1000.0)
        assert fitted.frequencies_.shape[1] < 10
        assert len(fitted.get_feature_names_out()) == fitted.transform(X).shape[1]
        np.testing.assert_allclose(np.linalg.norm(fitted.transform(X), axis=1), 1)

    def test_the_learned_kernel_is_the_weighted_one(self):
        X, y = digits()
        X = X[:50]
        fitted = fit(X, y[:50], draw="heaviest", beta=5.0)
        phases = (X[:, None] - X) @ fitted.frequencies_
        expected = np.cos(phases) @ fitted.weights_
        features = fitted.transform(X)
        np.testing.assert_allclose(features @ features.T, expected, atol=1e-12)


class TestContinuousPosterior:
    def test_finds_better_frequencies_than_candidates(self):
        X, y = digits()
        X, y = X[:600], (y[:600] % 2)
        chains = fit(X, y, support="continuous", beta=30.0, gamma=0.05)
        candidates = fit(X, y, beta=30.0, gamma=0.05)
        found = alignment_sums(X, y, chains.frequencies_).losses()
        drawn = alignment_sums(X, y, candidates.frequencies_).losses()
        assert found.mean() < drawn.mean()
        assert found.mean() < candidates.losses_.min()

    def test_says_when_it_does_not_mix(self):
        X, y = digits()
        with pytest.warns(ConvergenceWarning, match="do not mix"):
            fit(X[:100], y[:100], support="continuous", beta=1000.0, n_components=4)

    @pytest.mark.parametrize("wrong", [{"divergence": "chi2"}, {"kernel": "laplacian"}])
    def test_needs_the_gaussian_and_kl(self, wrong):
        X, y = digits()
        with pytest.raises(ValueError, match="support='continuous' needs divergence='kl'"):
            fit(X, y, support="continuous", **wrong)


class TestBound:
    def test_is_informative_with_enough_rows(self):
        rng = np.random.default_rng(0)
        y = np.arange(2000) % 2
        X = rng.normal(size=(2000, 2)) * 0.3 + 2.0 * y[:, None]
        bound = fit(X, y, gamma=0.5, beta=1.0).bound(0.05)
        assert bound.observed < bound.value < 0.5
        assert "where 0.5 would say nothing" in str(bound)

    @pytest.mark.parametrize("draw", sorted({*get_args(Draw)} - {"orthogonal"}))
    def test_covers_the_kernel_that_transform_computes(self, draw):
        """Not the posterior's, which is better: its bound fails for the map's own kernel."""
        repetitions, n = 40, 2000
        width = 20 if draw == "auto" else 160
        failed = {"own": 0, "posterior": 0}
        for seed in range(repetitions):
            rng = np.random.default_rng(seed)
            y = rng.choice([-1, 1], n)
            X = (2 * y + rng.standard_normal(n))[:, None]
            learned = fit(X, y, draw, n_components=width, n_candidates=100, random_state=seed)
            w = learned.frequencies_[0]  # |E y exp(i w x)|^2 in closed form
            truth = learned.weights_ @ (0.5 - np.exp(-(w**2)) * np.sin(2 * w) ** 2 / 2)
            failed["own"] += learned.bound(0.05).value < truth
            failed["posterior"] += learned.posterior_bound(0.05).value < truth
        assert failed["own"] / repetitions <= allowed(repetitions, 0.05)
        if draw == "without_replacement":
            assert failed["posterior"] / repetitions > allowed(repetitions, 0.05)

    @pytest.mark.parametrize("share", [0.5, 0.3, 0.1, 0.03])
    def test_says_nothing_of_labels_that_know_nothing(self, share):
        """A constant kernel does well for unequal classes; 0.5 is the wrong level then."""
        found = {"own": 0, "posterior": 0}
        for seed in range(20):
            rng = np.random.default_rng(seed)
            X, y = rng.normal(size=(1000, 2)), rng.random(1000) < share
            learned = fit(X, y, gamma=0.01, random_state=seed, criterion="alignment")
            found["own"] += learned.bound(0.05).informative
            found["posterior"] += learned.posterior_bound(0.05).informative
        assert max(found.values()) / 20 <= allowed(20, 0.05)

    def test_says_which_kernel_it_is_of(self):
        learned = fit(*digits())
        own, posterior = learned.bound(), learned.posterior_bound()
        assert own.details["divergence"] == pytest.approx(np.log(300 / 10))
        assert own.observed == pytest.approx(learned.losses_[learned.drawn_].mean())
        assert "of the map's own kernel on new pairs" in str(own)
        assert posterior.observed == pytest.approx(learned.posterior_ @ learned.losses_)
        assert "of the posterior's kernel over all candidates on new pairs" in str(posterior)

    def test_of_a_chosen_set_counts_the_random_frequencies_as_candidates(self):
        X, y = digits()
        learned = fit(X, y, draw="auto", n_components=300)
        assert 0 < learned.n_chosen_ < 150
        bound = learned.bound()
        assert bound.details["divergence"] == pytest.approx(np.log((300 + 150) / 150))
        own = alignment_sums(X, y, learned.frequencies_).losses()
        assert bound.observed == pytest.approx(own.mean())
        assert "of the map's own kernel on new pairs" in str(bound)

    def test_more_settings_cost_something(self):
        fitted = fit(*digits())
        assert fitted.bound(n_settings=10).value > fitted.bound().value

    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"gamma": "scale"}, "read off the same rows"),
            ({"support": "continuous"}, "divergence from the prior is unknown"),
            ({"target": "regression"}, "no bound for regression"),
        ],
    )
    def test_refused_where_it_does_not_hold(self, parameters, message):
        X, y = digits()
        with pytest.raises(ConditionsNotMet, match=message):
            fit(X[:200], y[:200], **parameters).bound()

    def test_refused_with_weights(self):
        X, y = digits()
        fitted = PosteriorFourierFeatures(n_candidates=50, gamma=0.5)
        fitted.fit(X, y, sample_weight=np.ones(len(y)))
        with pytest.raises(ConditionsNotMet, match="sample_weight"):
            fitted.bound()


class TestBadInput:
    X = np.random.default_rng(0).normal(size=(20, 3))
    y = np.arange(20) % 2

    @pytest.mark.parametrize(
        "wrong",
        [
            {"beta": 0},
            {"beta": -1.0},
            {"rho": -0.1},
            {"mu": 1.0},
            {"n_candidates": 0},
            {"n_candidates": 10**30},
            {"criterion": "paper"},
            {"draw": "all"},
            {"divergence": "tv"},
            {"n_components": 7},
        ],
    )
    def test_parameters(self, wrong):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            fit(self.X, self.y, **wrong)

    def test_more_features_than_candidates(self):
        with pytest.raises(ValueError, match=r"there are only\s+n_candidates=5"):
            fit(self.X, self.y, n_candidates=5)

    def test_one_class(self):
        with pytest.raises(ValueError, match="one class"):
            fit(self.X, np.zeros(20, dtype=int))

    def test_numbers_for_classification(self):
        with pytest.raises(ValueError, match="continuous numbers"):
            fit(self.X, self.X[:, 0], target="classification")

    def test_a_class_with_one_member_and_constant_columns(self):
        """Nothing special: losses are means over pairs, and a constant column turns all alike."""
        y = self.y.copy()
        y[0] = 2
        X = np.column_stack([self.X, np.full(20, 3.0)])
        assert np.isfinite(fit(X, y).transform(X)).all()


def test_sparse_rows_with_many_columns_are_not_made_dense():
    X = sparse.random(
        1000, 20_000, 0.001, format="csr", dtype=np.float32, random_state=np.random.default_rng(0)
    )
    y = np.arange(1000) % 2
    fitted, peak = peak_of(lambda: fit(X, y, n_candidates=100, gamma=1e-3))
    assert peak < np.prod(X.shape) * 4 / 2
    assert fitted.transform(X).shape == (1000, 20)
    assert fitted.transform(X).dtype == np.float32


def test_an_offset_of_the_target_changes_nothing(rng):
    X = rng.normal(size=(400, 3)).astype(np.float32)
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=400)
    plain, shifted = (
        PosteriorFourierFeatures(n_components=20, n_candidates=500, random_state=0).fit(X, z)
        for z in (y, y + 1e8)
    )
    assert shifted.losses_.min() >= 0
    np.testing.assert_allclose(shifted.losses_, plain.losses_, atol=1e-6)


def test_the_median_rule_looks_at_all_partitions():
    """Rows that grow: of the first ones alone gamma would be much too large."""
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(4000, 2)) * np.linspace(0.1, 10, 4000)[:, None])
    frame.columns = ["a", "b"]
    lazy = dd.from_pandas(frame, npartitions=8)
    lazy = lazy[lazy["a"] > -1e9]  # lengths that nobody has counted
    maps = [FourierFeatures(n_components=4, gamma="median", random_state=0) for _ in range(2)]
    there, here = maps[0].fit(lazy).kernel_.gamma, maps[1].fit(frame).kernel_.gamma
    assert there == pytest.approx(here, rel=0.2)


@pytest.mark.parametrize(
    ("parameters", "task"),
    [
        ({"n_candidates": 130, "draw": "heaviest"}, "block of candidates"),
        ({"support": "continuous"}, "step"),
    ],
)
def test_callbacks_are_told_of_every_step(parameters, task, monkeypatch):
    monkeypatch.setattr(candidates, "_BLOCK_BYTES", 1)  # 64 candidates
    monkeypatch.setattr(posterior_features, "_STEPS", 3)
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2
    watch = Watch()
    learned = PosteriorFourierFeatures(n_components=4, random_state=0, **parameters)
    learned.set_callbacks(watch).fit(X, y)
    assert watch.tasks == [task] * 3 + ["fit"]
    assert watch.over


def test_a_callback_may_end_the_chains(monkeypatch):
    monkeypatch.setattr(posterior_features, "_STEPS", 10)
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2
    watch = Watch(stop_after=2)
    learned = PosteriorFourierFeatures(n_components=4, support="continuous", random_state=0)
    assert learned.set_callbacks(watch).fit(X, y).frequencies_.shape == (2, 2)
    assert watch.tasks == ["step"] * 2 + ["fit"]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_rows_of_weight_zero_are_removed_rows(kind, place, rng):
    """Extremes, the number of rows, gamma and the offset: all are of the rows that are left."""
    X = rng.normal(size=(60, 3))
    y = rng.integers(3, size=60) if kind == "classes" else rng.normal(size=60)
    weights = rng.uniform(0.5, 2, size=60)
    weights[::3] = 0
    X[::3], y[::3] = 5 * X[::3], 7 * y[::3]
    kept = weights > 0
    make = partial(
        PosteriorFourierFeatures, n_components=20, n_candidates=50, draw="heaviest", random_state=0
    )
    expected = make().fit(X[kept], y[kept], sample_weight=weights[kept])
    found = make().fit(PLACES[place](X), y, sample_weight=weights)
    tolerance = {"rtol": 0, "atol": 1e-6 if "float32" in place else 1e-10}
    assert found.kernel_.gamma == pytest.approx(expected.kernel_.gamma)
    for name in ("losses_", "scores_", "posterior_"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), **tolerance)
    parts = make(gamma=1.0)
    for part in (slice(0, 30), slice(30, 60)):
        classes = range(-20, 20) if kind == "classes" else None
        parts.partial_fit(X[part], y[part], classes=classes, sample_weight=weights[part])
    before = parts.losses_
    parts.partial_fit(X[:2], y[:2], sample_weight=[0, 0])
    np.testing.assert_array_equal(parts.losses_, before)
    whole = make(gamma=1.0).fit(X[kept], y[kept], sample_weight=weights[kept])
    np.testing.assert_allclose(before, whole.losses_, rtol=0, atol=1e-10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("support", ["candidates", "continuous"])
@pytest.mark.parametrize("size", [2.0**996, 2.0**1020, 2.0**-1000])
def test_the_unit_of_the_numbers_does_not_matter(size, support, dtype, rng):
    X = rng.normal(size=(200, 3)).astype(dtype)
    y = 1 + np.sin(2 * X[:, 0].astype(np.float64))
    plain, huge = (fit(X, z, support=support).transform(X) for z in (y, size * y))
    np.testing.assert_allclose(huge, plain, atol=1e-6 if dtype is np.float32 else 1e-10)


def test_numbers_of_sizes_that_cannot_be_squared_together(rng):
    learned = PosteriorFourierFeatures(n_components=4, n_candidates=10, draw="heaviest")
    learned.partial_fit(rng.normal(size=(20, 2)), rng.normal(size=20))
    with pytest.raises(ValueError, match="squares do not fit"):
        learned.partial_fit(rng.normal(size=(20, 2)), 1e200 * rng.normal(size=20))


def test_weights_that_leave_nothing_to_compare():
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2
    learned = PosteriorFourierFeatures(n_components=4, n_candidates=10)
    for weights, message in (
        (np.eye(40)[0], "sample_weight must be above zero for at least 2 rows"),
        (np.full(40, 1e300), "sample_weight counts rows: .* sum to 4e.301"),
        (np.full(40, 0.02), "sample_weight counts rows: .* sum to 0.8"),
    ):
        with pytest.raises(ValueError, match=message):
            learned.fit(X, y, sample_weight=weights)


def test_a_number_of_chosen_frequencies_is_what_held_out_rows_would_have_said(rng):
    X = rng.normal(size=(200, 3))
    y = (np.sin(2 * X[:, 0]) > 0).astype(int)
    given = {"n_components": 12, "n_candidates": 300, "random_state": 0}
    found = PosteriorFourierFeatures(**given).fit(X, y)
    assert found.n_chosen_ > 0
    same = PosteriorFourierFeatures(**given, n_chosen=found.n_chosen_).fit(X, y)
    np.testing.assert_array_equal(same.frequencies_, found.frequencies_)
    for count, expected in ((0, 0), (2, 2), (100, 6)):
        assert PosteriorFourierFeatures(**given, n_chosen=count).fit(X, y).n_chosen_ == expected
