import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bochner.fourier.alignment import AlignmentSums, alignment_sums, label_sums
from bochner.targets import Target, check_labels
from tests.fourier.naive import alignment_loss, centred_score, centred_similarity, label_similarity
from tests.places import PLACES

KINDS = ["binary", "multiclass", "regression"]


def labels(kind, n, rng):
    if kind == "regression":
        return rng.normal(size=n) * 3 + 5
    n_classes = 2 if kind == "binary" else 4
    y = rng.integers(n_classes, size=n)
    y[:n_classes] = np.arange(n_classes)  # each at least once
    return np.array(["a", "b", "c", "d"])[y]


@settings(deadline=None, max_examples=40)
@given(
    kind=st.sampled_from(KINDS),
    n=st.integers(4, 12),
    d=st.integers(1, 4),
    weighted=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_losses_equal_the_double_sum(kind, n, d, weighted, seed):
    rng = np.random.default_rng(seed)
    X, W, y = rng.normal(size=(n, d)), rng.normal(size=(d, 3)), labels(kind, n, rng)
    weights = rng.uniform(0.1, 2, size=n) if weighted and kind != "regression" else None
    losses = alignment_sums(X, y, W, weights=weights).losses()
    similarity = label_similarity(y, kind)
    expected = [alignment_loss(X, similarity, w, weights) for w in W.T]
    np.testing.assert_allclose(losses, expected, rtol=0, atol=1e-10)


def test_weighted_regression(rng):
    X, W, y = rng.normal(size=(9, 2)), rng.normal(size=(2, 3)), rng.normal(size=9)
    weights = rng.uniform(0.1, 2, size=9)
    centred = y - np.average(y, weights=weights)
    centred /= np.abs(centred).max()
    expected = [alignment_loss(X, np.outer(centred, centred), w, weights) for w in W.T]
    losses = alignment_sums(X, y, W, weights=weights).losses()
    np.testing.assert_allclose(losses, expected, rtol=0, atol=1e-10)


def test_centred_agreement_is_the_double_sum(rng):
    X, W = rng.normal(size=(11, 2)), rng.normal(size=(2, 4))
    for kind, weights in (("binary", None), ("multiclass", rng.uniform(0.1, 2, size=11))):
        y = labels(kind, 11, rng)
        expected = [centred_score(X, y, w, weights) for w in W.T]
        found = alignment_sums(X, y, W, weights=weights).agreement(centred=True)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)
    A, signs = Target.of(y).columns_and_signs(y, centred=True)
    np.testing.assert_allclose((A * signs) @ A.T, centred_similarity(y), atol=1e-12)


def test_centred_scores_of_random_labels_spread_alike(rng):
    """By 1 / n for any number and shares of classes, as for two equal ones in the paper."""
    n = 400
    X, W = rng.normal(size=(n, 3)), 20 * rng.normal(size=(3, 2000))
    for shares in ([0.5, 0.5], [0.95, 0.05], np.full(26, 1 / 26)):
        y = rng.choice(len(shares), p=shares, size=n)
        agreement = alignment_sums(X, y, W).agreement(centred=True)
        assert n * agreement.std() == pytest.approx(1, abs=0.15)
    low = rng.normal(size=(3, 1)) / 4  # one that all rows agree on
    orders = [
        alignment_sums(X, rng.permutation(y), low).agreement(centred=True) for _ in range(400)
    ]
    assert abs(np.mean(orders)) < 4 * np.std(orders) / 20
    balanced = np.arange(n) % 2
    sums = alignment_sums(X, balanced, W)
    difference = sums.agreement(centred=True) - sums.agreement()
    assert np.abs(difference).max() < 1 / n


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", PLACES)
def test_losses_are_the_same_in_every_place(kind, place, rng):
    X, W, y = rng.normal(size=(60, 5)), rng.normal(size=(5, 7)), labels(kind, 60, rng)
    expected = alignment_sums(X, y, W).losses()
    np.testing.assert_allclose(
        alignment_sums(PLACES[place](X), y, W).losses(), expected, atol=1e-12
    )


@pytest.mark.parametrize("kind", KINDS)
def test_parts_add_up(kind, rng):
    X, W, y = rng.normal(size=(60, 5)), rng.normal(size=(5, 7)), labels(kind, 60, rng)
    target = Target.of(y)
    total = AlignmentSums.empty(target, 7, y[:20])
    for part in (slice(0, 20), slice(20, 21), slice(21, 60)):
        sums = label_sums(total, X[part], y[part], W, None)
        total = total.add(sums, y[part], None)
    np.testing.assert_allclose(total.losses(), alignment_sums(X, y, W).losses(), atol=1e-13)


def test_columns_and_signs_give_the_similarity(rng):
    for kind in KINDS:
        y = labels(kind, 20, rng)
        A, signs = Target.of(y).columns_and_signs(y)
        np.testing.assert_allclose((A * signs) @ A.T, label_similarity(y, kind), atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("offset", [1e4, 1e8, -1e12])
def test_an_offset_of_the_numbers_does_not_matter(offset, dtype, rng):
    """Losses are of the numbers less their mean: those of the shifted numbers, to their digits."""
    X, W = rng.normal(size=(300, 4)).astype(dtype), rng.normal(size=(4, 50)).astype(dtype)
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=300)
    shifted = y + offset
    expected = alignment_sums(X, shifted - offset, W).losses()
    losses = alignment_sums(X, shifted, W).losses()
    np.testing.assert_allclose(losses, expected, atol=1e-7 if dtype is np.float32 else 1e-11)
    parts = AlignmentSums.empty(Target(None), 50, shifted[:10])
    for part in (slice(0, 10), slice(10, 300)):
        sums = label_sums(parts, X[part], shifted[part], W, None)
        parts = parts.add(sums, shifted[part], None)
    np.testing.assert_allclose(
        parts.losses(), expected, atol=1e-7 if dtype is np.float32 else 1e-11
    )


class TestBadLabels:
    def test_one_class(self):
        with pytest.raises(ValueError, match="y holds one class only"):
            Target.of(np.zeros(5, dtype=int))

    @pytest.mark.parametrize("value", [0.5, 0.1, 1e8 + 0.1])
    def test_constant_regression(self, value, rng):
        sums = alignment_sums(
            rng.normal(size=(7, 2)), np.full(7, value), np.ones((2, 1)), target=Target(None)
        )
        with pytest.raises(ValueError, match="y is constant"):
            sums.losses()

    def test_numbers_for_classification(self):
        with pytest.raises(ValueError, match="needs classes, but y holds continuous numbers"):
            Target.of(np.array([0.5, 1.5, 2.7]), "classification")

    @pytest.mark.parametrize("dtype", [str, object])
    def test_text_for_regression(self, dtype):
        with pytest.raises(ValueError, match="needs numbers, but y holds text such as a;"):
            Target.of(np.array(["a", "b", "a"], dtype=dtype), "regression")

    def test_no_labels(self):
        with pytest.raises(ValueError, match="y is empty"):
            check_labels(np.empty(0, int), np.nan)

    def test_several_outputs(self):
        with pytest.raises(ValueError, match="Unknown label type"):
            Target.of(np.array([[1, 0], [0, 1]]))

    def test_new_class(self):
        with pytest.raises(ValueError, match=r"labels that are not in classes: \[7\]"):
            Target.of([0, 1, 2]).raw_columns(np.array([0, 7]))

    def test_not_a_number(self):
        with pytest.raises(ValueError, match="NaN or infinity"):
            check_labels([0.1, np.nan], 2)

    def test_wrong_length(self):
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            check_labels([0, 1], 3)

    def test_one_row(self):
        sums = alignment_sums(np.ones((1, 2)), [0], np.ones((2, 1)), target=Target(np.arange(2)))
        with pytest.raises(ValueError, match="at least two rows"):
            sums.losses()


def test_regression_may_be_asked_for_whole_numbers():
    assert Target.of([1, 2, 3, 4], "regression").classes is None
    assert len(Target.of([1, 2, 3, 4]).classes) == 4
