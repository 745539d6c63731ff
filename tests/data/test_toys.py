import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bochner.data import checkerboard_sphere, windmill

SEEDS = st.integers(0, 2**31)
COUNTS = st.integers(1, 9)


def within_five_standard_errors(values, expected):
    return abs(np.mean(values) - expected) < 5 * np.std(values) / np.sqrt(len(values))


@given(COUNTS, SEEDS)
def test_windmill_is_its_formula(arms, seed):
    X, y = windmill(50, arms, random_state=seed)
    radius, angle = np.hypot(*X.T), np.arctan2(X[:, 1], X[:, 0])
    wave = np.sin(arms * (angle + radius))
    clear = abs(wave) > 1e-9
    np.testing.assert_array_equal(y[clear], np.sign(wave[clear]))
    assert (radius <= 1 + 1e-12).all()
    assert y.dtype == np.int64


@given(COUNTS, COUNTS, SEEDS)
def test_checkerboard_is_its_formula(a, b, seed):
    X, y = checkerboard_sphere(50, a, b, random_state=seed)
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1, atol=1e-12)
    for (first, second, z), label in zip(X, y, strict=True):
        band, field = b * (z + 1) / 2, 2 * a * (np.arctan2(second, first) + np.pi) / (2 * np.pi)
        if min(abs(band - round(band)), abs(field - round(field))) > 1e-9:
            assert label == (1 if (int(band) + int(field)) % 2 == 0 else -1)


def test_rows_are_uniform():
    X, y = windmill(20000, 4, random_state=0)
    # Half of the disc's area lies within radius sqrt(1/2); turning by half an arm swaps classes.
    assert within_five_standard_errors(np.sum(X**2, axis=1) < 0.5, 0.5)
    assert within_five_standard_errors(y, 0)
    X, y = checkerboard_sphere(20000, random_state=0)
    for column in X.T:
        assert within_five_standard_errors(column, 0)
        assert within_five_standard_errors(column**2, 1 / 3)
    assert within_five_standard_errors(y, 0)


@pytest.mark.parametrize("draw", [windmill, checkerboard_sphere])
def test_the_seed_decides(draw):
    X, y = draw(20, random_state=3)
    again, y_again = draw(20, random_state=np.random.RandomState(3))
    np.testing.assert_array_equal(X, again)
    np.testing.assert_array_equal(y, y_again)
    assert not np.array_equal(X, draw(20, random_state=4)[0])


def test_wrong_counts():
    with pytest.raises(ValueError, match="n must be a whole number of at least 1, got 0"):
        windmill(0)
    with pytest.raises(ValueError, match=r"arms must be a whole number of at least 1, got 2\.5"):
        windmill(5, arms=2.5)
    with pytest.raises(ValueError, match="b must be a whole number of at least 1, got True"):
        checkerboard_sphere(5, b=True)
