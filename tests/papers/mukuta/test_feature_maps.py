import numpy as np
import pytest
from sklearn.kernel_approximation import Nystroem

from bochner.papers.mukuta import feature_maps
from bochner.papers.mukuta.feature_maps import NYSTROEM, TriangularNystroem, make_map


def test_triangular_nystroem_has_the_same_kernel(rng, monkeypatch):
    X, Z = rng.normal(size=(30, 4)), rng.normal(size=(60, 4))
    theirs = Nystroem(n_components=20, gamma=0.2, random_state=3).fit(Z)
    ours = TriangularNystroem(n_components=20, gamma=0.2, random_state=3).fit(Z)
    np.testing.assert_array_equal(ours.landmarks_, theirs.components_)
    Phi, Psi = ours.transform(X), theirs.transform(X)
    np.testing.assert_allclose(Phi @ Phi.T, Psi @ Psi.T, atol=1e-6)
    assert isinstance(make_map(NYSTROEM, 20, 0.2, 0), Nystroem)
    monkeypatch.setattr(feature_maps, "EXACT_NYSTROEM", 10)
    assert isinstance(make_map(NYSTROEM, 20, 0.2, 0), TriangularNystroem)


def test_unknown_method():
    with pytest.raises(ValueError, match="there is no method 'best'; there are random"):
        make_map("best", 10, 0.5, 0)
