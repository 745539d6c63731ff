import numpy as np

from bochner.fourier.langevin import sample_tilted_gaussian


def test_chains_follow_a_known_law():
    """v = -|z - a|^2 / 2 tilts N(0, I) to N(c a / (1 + c), I / (1 + c))."""
    a, c, chains = np.array([1.0, -2.0, 0.5]), 3.0, 4000

    def potential(z):
        difference = z - a[:, None]
        return -0.5 * (difference**2).sum(axis=0), -difference

    z, acceptance = sample_tilted_gaussian(
        potential, (3, chains), strength=c, n_steps=200, random_state=np.random.RandomState(0)
    )
    mean, variance = c * a / (1 + c), 1 / (1 + c)
    error = np.sqrt(variance / chains)
    assert (np.abs(z.mean(axis=1) - mean) < 5 * error).all()
    assert (np.abs(z.var(axis=1) / variance - 1) < 5 * np.sqrt(2 / chains)).all()
    assert 0.4 < acceptance[100:].mean() < 0.75
