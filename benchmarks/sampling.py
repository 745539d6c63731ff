"""Error of the approximate kernel, by sampling scheme."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.preprocessing import StandardScaler

from benchmarks.harness import heading, row
from bochner import FourierFeatures


def kernel_error(columns: tuple[int, ...] = (128, 512, 2048), seeds: int = 20) -> None:
    heading("root-mean-square error of the gaussian kernel on digits, mean of 20 draws ± error")
    X = StandardScaler().fit_transform(load_digits().data)[:500]
    row("sampling", *[f"{c} columns" for c in columns], widths=(22, 20, 20, 20))
    schemes: dict[str, dict[str, Any]] = {
        "unpaired, iid": {"sampling": "iid", "paired": False},
        "iid": {"sampling": "iid"},
        "orthogonal": {"sampling": "orthogonal"},
        "sobol": {"sampling": "sobol"},
        "halton": {"sampling": "halton"},
    }
    for name, options in schemes.items():
        cells = []
        for width in columns:
            errors = []
            for seed in range(seeds):
                ours = FourierFeatures(n_components=width, random_state=seed, **options).fit(X)
                features = ours.transform(X)
                errors.append(np.sqrt(np.mean((features @ features.T - ours.kernel_(X)) ** 2)))
            cells.append(f"{np.mean(errors):.5f} ± {np.std(errors) / seeds**0.5:.5f}")
        row(name, *cells, widths=(22, 20, 20, 20))
