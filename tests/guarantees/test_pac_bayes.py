"""The sharp bounds by hand."""

import numpy as np
import pytest

from bochner.guarantees import catoni, pac_bayes_kl, sharp, smallest_over_t


def test_bounds_by_hand():
    delta = np.exp(-3)
    assert sharp(0.1, 1, 50, delta, 20) == pytest.approx(0.1 + (1 + 1 + 3) / 20)
    assert catoni(0.1, 1, 50, delta, 20) == pytest.approx(
        (1 - np.exp(-(2 + 1 + 3) / 50)) / (1 - np.exp(-0.4))
    )
    assert smallest_over_t(sharp, 0.1, 1, 50, delta, [20, 1e-3]) == pytest.approx(
        0.1 + (1 + 1 + 3 + np.log(2)) / 20
    )
    assert pac_bayes_kl(0, 1, 50, delta) == pytest.approx(
        1 - np.exp(-(1 + 3 + np.log(2 * np.sqrt(50))) / 50)
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pac_bayes_kl(0.2, 1, 0, 0.05), "m must be .* at least 1, got 0"),
        (lambda: sharp(0.2, 1, 10, 0.05, float("inf")), "t must be a finite .* got inf"),
        (lambda: catoni(0.2, 1, 10, 0.05, -1), "t must be .* got -1"),
        (lambda: smallest_over_t(sharp, 0.2, 1, 10, 0.05, []), "grid must have at least one"),
    ],
)
def test_invalid_parameters_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
