import numpy as np
import pytest

from bochner.models.penalties import PENALTIES, Penalties


@pytest.mark.parametrize("n_rows", [100, 200, 500, 2000, 20_000])
def test_they_are_as_strong_in_total_unless_hardly_felt(n_rows):
    found = np.array(Penalties(200).of(n_rows))
    felt = found > 1e-8
    total = max(n_rows, 200) * found[felt]
    np.testing.assert_allclose(total, 200 * np.array(PENALTIES)[felt])
    assert (np.array(PENALTIES)[~felt] >= found[~felt]).all()
    assert (found[~felt] >= 1e-9).all()
    assert len(found) == len(PENALTIES)  # as many as a certificate holds for
    assert (np.diff(found) <= 0).all()


def test_weaker_ones_begin_with_the_same_in_total():
    penalties = Penalties(200)
    start, *rest = penalties.weaker(1e-4, 200, 400)
    assert start == 5e-5
    np.testing.assert_allclose(rest, [5e-6, 5e-7, 5e-8, 1e-8, 1e-9])
    # and from there to yet more rows, or back
    assert penalties.weaker(start, 400, 800)[0] == 2.5e-5
    assert penalties.weaker(start, 400, 200)[0] == 1e-4


def test_one_that_is_given_stays():
    penalties = Penalties(200, given=0.3)
    assert penalties.of(100) == penalties.of(1000) == penalties.weaker(0.3, 100, 1000) == (0.3,)
