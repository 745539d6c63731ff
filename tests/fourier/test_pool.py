import numpy as np
import pytest

from bochner import LandmarkSimilarities
from bochner.fourier import candidates, pool
from tests.fourier.naive import landmark_loss
from tests.guarantees.simulation import allowed
from tests.linear.naive import krylov_fit
from tests.places import PLACES, on_host

KINDS = ["binary", "multiclass", "regression"]


def labelled(kind, rng):
    X = rng.normal(size=(25, 3))
    y = {"binary": np.arange(25) % 3 % 2, "multiclass": np.arange(25) % 4 % 3}
    return X, y.get(kind, X[:, 0] ** 2)


def fit(X, y, **parameters):
    defaults = {"n_components": 6, "n_frequencies": 7, "gamma": 0.5, "random_state": 0}
    defaults |= {"landmarks": "random", "beta": 2.0}
    return LandmarkSimilarities(**defaults | parameters).fit(X, y)


def naive_score(X, y, w, point, label, kind):
    """The mean similarity to rows of the landmark's class, less that to the others."""
    cosines = np.array([np.cos(w @ (point - x)) for x in X])
    if kind != "regression":
        return cosines[y == label].mean() - cosines[y != label].mean()
    z = (y - y.mean()) / y.std()
    own = np.clip((label - y.mean()) / y.std(), -1, 1)
    return 2 * own * (z * cosines).mean()


def frequencies(fitted):
    return np.hstack([W for _, W in fitted._posteriors.candidates.blocks()])


@pytest.mark.parametrize("kind", KINDS)
def test_posterior_and_transform_are_the_definition(kind, rng):
    X, y = labelled(kind, rng)
    fitted = fit(X, y, n_fit_steps=1)
    W = frequencies(fitted)
    new = rng.normal(size=(4, 3))
    for index, (point, label) in enumerate(
        zip(fitted.landmarks_, fitted.landmark_labels_, strict=True)
    ):
        scores = np.array([naive_score(X, y, w, point, label, kind) for w in W.T])
        weights = np.exp(2.0 * 5 * scores / 2)
        weights /= weights.sum()
        np.testing.assert_allclose(fitted.posterior_[index], weights, atol=1e-12)
        kernel = np.exp(-0.5 * ((new - point) ** 2).sum(axis=1))
        expected = kernel + np.cos((new - point) @ W) @ (weights - 1 / 7)
        np.testing.assert_allclose(fitted.transform(new)[:, index], expected, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_fit_steps", [2, 4])
def test_several_steps_score_by_a_fit_of_all_waves(kind, n_fit_steps, rng):
    X, y = labelled(kind, rng)
    alone, fitted = fit(X, y, n_fit_steps=1), fit(X, y, n_fit_steps=n_fit_steps)
    waves = np.exp(1j * (X @ frequencies(fitted)))
    columns = y[:, None] if kind == "regression" else np.eye(len(np.unique(y)))[y]
    Phi, centred = np.hstack([waves.real, waves.imag]), columns - columns.mean(axis=0)
    naive = np.column_stack([krylov_fit(Phi, column, n_fit_steps)[0] for column in centred.T])
    coefficients = naive[:7] + 1j * naive[7:]
    cosine = (coefficients * fitted._posteriors.fitted.conj()).real.sum(axis=0)
    sizes = [np.linalg.norm(each, axis=0) for each in (coefficients, fitted._posteriors.fitted)]
    np.testing.assert_allclose(cosine, sizes[0] * sizes[1], rtol=1e-8)  # the same but for scale
    np.testing.assert_allclose(sizes[1], np.linalg.norm(alone._posteriors.fitted, axis=0))
    # the sums of all rows have no part in the scores
    np.testing.assert_allclose(
        alone._posteriors.fitted @ fitted._posteriors.contrast,
        alone._posteriors.sums @ fitted._posteriors.contrast,
        atol=1e-12,
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("where", ["random", "given"])
def test_losses_are_the_definition(kind, where, rng):
    X, y = labelled(kind, rng)
    landmarks = (rng.normal(size=(6, 3)), y[:6]) if where == "given" else where
    fitted = fit(X, y, landmarks=landmarks)
    W = frequencies(fitted)
    for index, (point, label) in enumerate(
        zip(fitted.landmarks_, fitted.landmark_labels_, strict=True)
    ):
        own = np.flatnonzero((point == X).all(axis=1))
        similarities = np.where(y == label, 1.0, -1.0)
        if kind == "regression":
            scale = np.abs(np.concatenate([y, fitted.landmark_labels_]) - y.mean()).max()
            similarities = (y - y.mean()) * (label - y.mean()) / scale**2
        expected = [
            landmark_loss(X, similarities, w, point, own[0] if own.size else None) for w in W.T
        ]
        np.testing.assert_allclose(fitted.losses_[index], expected, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", PLACES)
def test_fit_and_transform_agree_in_every_place(place, kind, rng):
    X, y = labelled(kind, rng)
    here, there = fit(X, y), fit(PLACES[place](X), y)
    np.testing.assert_allclose(there.posterior_, here.posterior_, atol=1e-5)
    result = on_host(there.transform(PLACES[place](X)))
    np.testing.assert_allclose(result, here.transform(X), atol=1e-5)


def test_many_blocks_of_the_pool_of_landmarks_and_of_rows(monkeypatch, rng):
    X, y = rng.normal(size=(300, 3)), np.arange(300) % 3
    options = {"n_components": 290, "n_frequencies": 200}
    monkeypatch.setattr(candidates, "_BLOCK_BYTES", 8 * 3 * 64)
    for name, value in {"_LANDMARKS": 100, "_ROWS": 70, "_VALUES": 1}.items():
        monkeypatch.setattr(pool, name, value)
    fitted = fit(X, y, **options)
    assert fitted._posteriors.candidates.n_blocks == 4
    W = frequencies(fitted)
    kernel = fitted.kernel_(X, fitted.landmarks_)
    waves = np.exp(1j * (X @ W))
    own = np.exp(1j * (fitted.landmarks_ @ W))
    expected = kernel + (waves @ np.conj((fitted.posterior_ - 1 / 200) * own).T).real
    np.testing.assert_allclose(fitted.transform(X), expected, atol=1e-11)


def test_the_pool_is_as_near_to_the_kernel_as_the_bound_says(rng):
    """Over new rows, for all landmarks together; and it is not far from what it must be."""
    points, new = rng.normal(size=(5, 2)), rng.normal(size=(2000, 2))
    distances = []
    for seed in range(40):
        learned = fit(
            rng.normal(size=(20, 2)),
            np.arange(20) % 2,
            landmarks=(points, [0, 1, 0, 1, 0]),
            n_frequencies=200,
            random_state=seed,
        )
        W = frequencies(learned)
        mean = np.cos((new[:, None] - learned.landmarks_) @ W).mean(axis=2)
        difference = mean - learned.kernel_(new, learned.landmarks_)
        distances.append(np.sqrt((difference**2).mean(axis=0)).max() / 2)
    limit = learned._posteriors.distance(0.05)
    assert max(distances) < limit < 10 * np.mean(distances)


def test_bound_holds_for_what_transform_computes():
    failures = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(2200, 2))
        y = (X[:, 0] + 0.5 * rng.normal(size=2200) > 0).astype(int)
        learned = fit(X[:200], y[:200], beta="auto", n_frequencies=100, random_state=seed)
        agreement = np.where(y[200:, None] == learned.landmark_labels_, 1.0, -1.0)
        losses = ((1 - agreement * learned.transform(X[200:])) / 2).mean(axis=0)
        failures += bool((losses > [bound.value for bound in learned.bound(0.05)]).any())
    assert failures / 20 <= allowed(20, 0.05)
