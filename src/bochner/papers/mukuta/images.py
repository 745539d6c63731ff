"""Figure 2: the error of the Gram matrix of images.

CIFAR-10 as histograms of oriented gradients, a stand-in for network features of ImageNet.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial

import numpy as np

from bochner.data.local import load_cifar10_hog
from bochner.papers.groups import Groups
from bochner.papers.mukuta import gram_error
from bochner.papers.mukuta.feature_maps import COMMON, MERCER, NYSTROEM, ORTHOGONAL, RANDOM
from bochner.records.cells import Cell, Result
from bochner.records.sections import Claim, Section

ROWS = 5000  # test rows of the Gram matrix


def measure(cell: Cell) -> Result:
    """Measure one cell."""
    return gram_error.measure_error(cell, lambda: sample(cell.seed, cell.max_train or ROWS))


@lru_cache(maxsize=1)
def sample(seed: int, n: int) -> gram_error.Sample:
    """Return all training rows to fit to, and some test rows to measure the error on."""
    data = load_cifar10_hog()
    X, X_test = data.X_train, data.X_test
    order = np.random.RandomState(seed).permutation(len(X_test))
    # One over the mean squared distance, as with the synthetic densities.
    gamma = float(0.5 / X.var(axis=0, dtype=np.float64).sum())
    return gram_error.Sample(X, gram_error.Gram(X_test[order[:n]], gamma))


def sections(results: Sequence[Result]) -> list[Section]:
    """Report the errors, and what the paper claims."""
    return gram_error.error_sections(
        results,
        "CIFAR-10 HOG: normalised spectral error of the Gram matrix",
        "A stand-in: the paper has network features of ImageNet, which are not to be had,"
        " and 100000 rows to fit; here 50000 rows of 512 columns, gamma = 1 / the mean"
        " squared distance.",
        claims,
    )


def claims(groups: Groups) -> list[Claim]:
    """Check what the paper says about its Figure 2."""
    return [
        gram_error.smaller_error(
            groups, f"{MERCER} has a smaller error than {other}", MERCER, other
        )
        for other in (RANDOM, ORTHOGONAL, NYSTROEM)
    ]


FIGURE2 = gram_error.make_study(
    item="Figure 2",
    summary="error of the Gram matrix of images, CIFAR-10 for ImageNet",
    tasks=("cifar10_hog",),
    files={"cifar10_hog": ("cifar10_hog.npz",)},
    seeds=5,
    quick_time="10 s",
    full_time="about 10 min",
    collect=partial(
        gram_error.collect, "images", methods=COMMON, widths=(*gram_error.WIDTHS, 10240)
    ),
    measure=measure,
    sections=sections,
)
