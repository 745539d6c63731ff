"""Phases computed once give what the map itself gives for each posterior."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from bochner.fourier.posterior_features import PosteriorFourierFeatures
from bochner.papers.letarte.candidate_waves import CandidateWaves
from bochner.papers.letarte.common import authors_split

GAMMA, CANDIDATES = 1e-5, 300


@pytest.fixture
def split(breast):
    return authors_split(breast, 0, 200)


@pytest.fixture
def learned(split):
    """The map, whose seed of the candidates the study does not know."""
    return PosteriorFourierFeatures(
        n_components=40,
        n_candidates=CANDIDATES,
        draw="with_replacement",
        criterion="alignment",
        gamma=GAMMA,
        random_state=0,
    ).fit(split.X_train, split.y_train)


@pytest.mark.parametrize(
    ("divergence", "name", "strength"), [("kl", "beta", 3.0), ("chi2", "rho", 0.01)]
)
def test_draws_are_those_of_the_map(split, learned, divergence, name, strength):
    waves = CandidateWaves.of_split(split, GAMMA, CANDIDATES, learned._candidates.seed)
    np.testing.assert_allclose(waves.losses, learned.losses_, atol=1e-5)
    plain = learned.with_posterior(divergence=divergence, **{name: strength})
    drawn = waves.draw(divergence, strength, 20, learned._draw_seed)
    np.testing.assert_array_equal(drawn.index, plain.drawn_)
    for part in ("X_train", "X_valid", "X_test"):
        found = drawn.transform(getattr(waves.phases, part))
        features = plain.transform(getattr(split, part))
        np.testing.assert_allclose(found @ found.T, features @ features.T, atol=1e-4)
    assert found.dtype == np.float64


def test_sparse_rows_and_rows_on_a_device_have_the_same_phases(split):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    thin = replace(
        split,
        X_train=sparse.csr_array(split.X_train),
        X_valid=sparse.csr_array(split.X_valid),
        X_test=sparse.csr_array(split.X_test),
    )
    here = CandidateWaves.of_split(split, GAMMA, CANDIDATES, 0)
    for other in (thin, thin.on("cpu:0")):
        waves = CandidateWaves.of_split(other, GAMMA, CANDIDATES, 0)
        np.testing.assert_allclose(waves.losses, here.losses, atol=1e-6)
        np.testing.assert_allclose(waves.phases.X_test, here.phases.X_test, atol=1e-4)
        drawn = waves.draw("kl", 1.0, 10, 0)
        found, expected = (np.asarray(drawn.transform(w.phases.X_valid)) for w in (waves, here))
        np.testing.assert_allclose(found, expected, atol=1e-4)
