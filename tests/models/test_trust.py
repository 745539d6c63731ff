"""Plans whose indices point somewhere, and plans whose indices do not."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from bochner import MercerFeatures
from bochner.models.trust import check_contents, foreign_types

X = np.random.default_rng(0).normal(size=(100, 3))


def fitted(**parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MercerFeatures(n_components=12, n_mixture=3, random_state=0, **parameters).fit(X)


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"rerank": True},
        {"density": "mixture"},
        {"density": "weighted-mixture"},
        {"density": "marginals", "kernel": "laplacian"},
    ],
)
def test_honest_maps_pass(parameters):
    check_contents({"a": [fitted(**parameters)]})
    check_contents(MercerFeatures())


def forged(mercer, plan):
    mercer._plan = plan
    return mercer


def refused(thing):
    with pytest.raises(ValueError, match="do not fit each other"):
        check_contents(thing)


def test_columns_of_a_reranked_plan():
    for columns in ([0, 10**6], [-1, 0], [0.0, 1.0], []):
        mercer = fitted(rerank=True)
        refused(forged(mercer, replace(mercer._plan, columns=np.array(columns))))


def test_mixtures():
    mercer = fitted(density="mixture")
    refused(forged(mercer, replace(mercer._plan, join=mercer._plan.join[:-1])))
    mercer = fitted(density="mixture")
    refused(forged(mercer, replace(mercer._plan, plans=(*mercer._plan.plans, "more"))))


def test_marginals():
    for change in (
        lambda one: replace(one, coefficients=one.coefficients[:, :1]),
        lambda one: replace(one, nodes=one.nodes[:-1]),
        lambda one: "no marginal",
    ):
        mercer = fitted(density="marginals")
        first, *others = mercer._plan.marginals
        refused(forged(mercer, replace(mercer._plan, marginals=(change(first), *others))))
    mercer = fitted(density="marginals")
    refused(forged(mercer, replace(mercer._plan, marginals=mercer._plan.marginals[:1])))


def test_anything_in_place_of_a_plan():
    for plan in ("text", 3, [], object()):
        refused(forged(fitted(), plan))


def test_sparse_matrices():
    matrix = sparse.csr_matrix(np.eye(3))
    check_contents([matrix])
    matrix.indices[0] = 7
    with pytest.raises(ValueError):
        check_contents([matrix])


def test_circles_end():
    circle = []
    circle.append(circle)
    check_contents(circle)


def test_only_whole_names_are_trusted():
    names = ["bochner.kernels.Gaussian", "bochner.kernels.Gauss", "builtins.eval"]
    assert foreign_types(names) == ["bochner.kernels.Gauss", "builtins.eval"]
