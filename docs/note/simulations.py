"""The numbers of the note: every counterexample, simulated. ``python docs/note/simulations.py``.

Each function shows one error and returns the figures that the note prints, which are kept in
`numbers.json`. A statement "as printed" is written here as the paper has it; the corrected one is
called from `bochner.guarantees`. All of it takes a few seconds.
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner import MercerFeatures
from bochner.guarantees import (
    margin_bound,
    potential_sample_size,
    power_divergence,
    regret_bound,
    theorem_4,
    variance_bound,
)
from bochner.guarantees.complexity import fourier_complexity
from bochner.linear.dual_set import project_onto_dual_set
from bochner.mercer.densities import Density
from bochner.mercer.features import MercerWarning
from bochner.mercer.products import geometric_costs, select_products

Floats = NDArray[np.float64]
Numbers = dict[str, Any]

NUMBERS = Path(__file__).with_name("numbers.json")
DELTA = 0.05


# ---------------------------------------------------------------- Letarte, Morvant, Germain 2019


def variance_of_the_loss() -> Numbers:
    """Lemma 6: the largest variance of the empirical loss is more than 1 / (4 n)."""

    def exact(n: int) -> float:
        """At the frequency 0, over all 2^n labels, for the worst share of the classes."""
        mean = math.sqrt((n - 2) / (2 * n - 3))
        ones = np.arange(n + 1)
        shares = [math.comb(n, k) * (1 + mean) ** k * (1 - mean) ** (n - k) / 2**n for k in ones]
        loss = 0.5 - ((2 * ones - n) ** 2 - n) / (2 * n * (n - 1))
        return float(shares @ (loss - shares @ loss) ** 2)

    def spread(classes: int) -> float:
        """Largest variance of the share p_y of a row's class: one of share p, the others alike."""
        p = np.linspace(0, 1, 20001)
        other = (1 - p) / (classes - 1)
        mean = p * p + (1 - p) * other
        return float((p * p**2 + (1 - p) * other**2 - mean**2).max())

    sizes = [2, 5, 10, 100]
    return {
        "n": sizes,
        "printed": [1 / (4 * n) for n in sizes],
        "exact": [exact(n) for n in sizes],
        "corrected": [variance_bound(n) for n in sizes],
        # n Var tends to 4 Var(p_y), of which a fourth is the largest for two classes.
        "ratio of classes": {str(c): 16 * spread(c) for c in (3, 10, 1000)},
    }


def theorem_4_as_printed(loss: Any, divergence: Any, n: int, mu: float) -> Any:
    """Theorem 4 with the moment of order mu in the place of its conjugate."""
    size = (4 * n) ** (-(mu - 1) / 2) if mu <= 2 else (4 * n) ** -(1 - 1 / mu)
    bound = loss + size * DELTA ** -(1 - 1 / mu) * (np.asarray(divergence) + 1) ** (1 / mu)
    return np.minimum(bound, 1.0)


def coins(rng: np.random.Generator, repetitions: int, n: int, count: int) -> tuple[Floats, float]:
    """Empirical losses of `count` independent frequencies of largest variance; the true loss."""
    square = (n - 2) / (2 * n - 3)
    sums = 2.0 * rng.binomial(n, (1 + math.sqrt(square)) / 2, (repetitions, count)) - n
    return 0.5 - (sums**2 - n) / (2 * n * (n - 1)), (1 - square) / 2


def violations_of_theorem_4() -> Numbers:
    """Theorem 4: how often it fails for one frequency, and for a learned posterior over eight."""
    rng, repetitions, n = np.random.default_rng(4), 20_000, 1000
    losses, true = coins(rng, repetitions, n, 1)
    orders = [1.5, 2, 3, 4, 10]
    zero = np.zeros(repetitions)

    def rate(bounds: Any) -> float:
        return float(np.mean(bounds < true))

    result: Numbers = {
        "n": n,
        "repetitions": repetitions,
        "mu": orders,
        "printed": [rate(theorem_4_as_printed(losses[:, 0], zero, n, mu)) for mu in orders],
        "corrected": [rate(theorem_4(losses[:, 0], zero, n, DELTA, mu)) for mu in orders],
    }
    n, mu = 10_000, 10
    losses, true = coins(rng, 4000, n, 8)
    weights = np.where(losses <= np.median(losses, axis=1, keepdims=True), 1.0, 0.0)
    weights /= weights.sum(axis=1, keepdims=True)
    loss, divergence = (weights * losses).sum(axis=1), power_divergence(weights, mu)
    result["learned printed"] = rate(theorem_4_as_printed(loss, divergence, n, mu))
    result["learned corrected"] = rate(theorem_4(loss, divergence, n, DELTA, mu))
    return result


# ---------------------------------------------------------------- Bullins, Zhang, Zhang 2018


def length_of_the_gradient() -> Numbers:
    """Theorem 4.1: all terms of the sum have one sign, one class half a wave off the other."""
    n, C = 2000, 1.0
    y = np.repeat([-1.0, 1.0], n // 2)
    wave = np.exp(1j * np.where(y > 0, 0, np.pi))
    # The text's gradient, 1 - 2 Y Re(<Phi, Y alpha> Phi); with mass 1 there is no 2.
    sums = (C * y) @ wave.conj()
    lengths = {mass: float(np.linalg.norm(1 - mass * y * (sums * wave).real)) for mass in (1, 2)}
    return {
        "n": n,
        "C": C,
        "mass 1": lengths[1],
        "mass 2": lengths[2],
        "printed": (1 + 2 * C) * math.sqrt(n),
        "corrected mass 1": (1 + n * C) * math.sqrt(n),
        "corrected mass 2": (1 + 2 * n * C) * math.sqrt(n),
    }


def regret_of_the_game() -> Numbers:
    """Theorem 4.1: clusters of rows, each told apart by a frequency of its own."""
    n, C, clusters, T = 10_240, 0.1, 16, 8
    size = n // clusters
    y, cluster = np.tile([-1.0, 1.0], n // 2), np.repeat(np.arange(clusters), size)
    # Frequency j is the label on cluster j and constant, so that it cancels, on the others.
    waves = np.where(cluster[:, None] == np.arange(clusters), y[:, None] + 0j, 1j)

    def optimum(shares: Floats) -> float:
        """Largest value of the dual: the sum of the weights of a cluster is free up to C size."""
        with np.errstate(divide="ignore"):
            total = np.minimum(1 / shares, C * size)
        return float((total - shares * total**2 / 2).sum())

    alpha, chosen = np.full(n, C), []
    for t in range(1, T + 1):
        sums = (alpha * y) @ waves
        best = int(np.argmax(np.abs(sums)))
        chosen.append(best)
        gradient = 1 - y * (sums[best].conj() * waves[:, best]).real
        # The printed step, C / ((1 + 2 C) sqrt(t)). By symmetry y . alpha stays 0.
        alpha = np.clip(alpha + C / ((1 + 2 * C) * math.sqrt(t)) * gradient, 0, C)
    shares = np.bincount(chosen, minlength=clusters) / T
    best_value = optimum(np.full(clusters, 1 / clusters))
    return {
        "n": n,
        "C": C,
        "T": T,
        "clusters": clusters,
        "value": optimum(shares),
        "best": best_value,
        "gap": optimum(shares) - best_value,
        "printed": 3 * n * (C + 2 * C**2) / (4 * math.sqrt(T)),
        "corrected": regret_bound(n, C, T),
    }


def alternate_form() -> Numbers:
    """Theorem 4.1, alternate form: with rho = 0 it says that the game's value is zero."""
    # Two rows half a wave apart, the best frequency at every round: F(alpha) = s - s^2 / 2.
    n, C, T = 2, 0.25, 10_000
    value = n * C - (n * C) ** 2 / 2
    return {
        "n": n,
        "C": C,
        "T": T,
        "value": value,
        "printed": 3 * (C + 2 * C**2) * n / (4 * T**0.5),
    }


def competitive_ratio() -> Numbers:
    """Corollary 4.2: a gap of the game's value is not a share of the margin."""
    C = 0.05
    blind, best = 2 * C, 2 * C - (2 * C) ** 2 / 2  # one frequency cancels, the other separates
    gap = blind - best
    return {
        "C": C,
        "gap": gap,
        "ratio": math.sqrt(best / blind),
        "printed": 1 - gap,
        "corrected": math.sqrt(1 - gap / blind),
    }


def alternating_projection() -> Numbers:
    """Appendix A.2: clip and remove the component along y, ten times; then the nearest point."""
    y, C, point = np.array([1.0, 1.0, -1.0]), 1.0, np.array([2.0, 0.5, 0.5])
    alpha = point
    for _ in range(10):
        alpha = np.clip(alpha, 0, C)
        alpha = alpha - y * (y @ alpha) / len(y)
    nearest = project_onto_dual_set(point, y, C)
    return {
        "alternating": [float(value) for value in alpha],
        "nearest": [float(value) for value in nearest],
        "distances": [float(np.linalg.norm(end - point)) for end in (alpha, nearest)],
    }


def boosted(x: Floats, y: Floats, frequencies: Floats, rounds: int) -> Floats:
    """Scores of a convex combination of waves with margins as large as boosting makes them."""
    waves = np.exp(1j * np.outer(x, frequencies))
    weights, scores, total = np.full(len(x), 1 / len(x)), np.zeros(len(x)), 0.0
    for _ in range(rounds):
        sums = (weights * y) @ waves
        best = int(np.argmax(np.abs(sums)))
        step = float(abs(sums[best]))
        wave = (waves[:, best] * sums[best].conj()).real / step
        scores, total = scores + step * wave, total + step
        weights *= np.exp(-step * y * wave)
        weights /= weights.sum()
    return scores / total


def theorem_4_3_as_printed(scores: Floats, y: Floats, R_w: float, R_x: float) -> float:
    """Theorem 4.3 word for word: nothing is said of the norm, and any theta will do."""
    margins, n = np.sort(y * scores), len(y)
    theta = margins[margins > 0]
    share = (margins[:, None] < theta).mean(axis=0)
    smallest = (share + 6 * R_w * R_x / theta / math.sqrt(n)).min()
    return float(min(1.0, smallest + 3 * math.sqrt(math.log(2 / DELTA) / n)))


def margin_bound_on_coins() -> Numbers:
    """Theorem 4.3: labels are coins, so that every classifier errs on half of the new rows."""
    rng, n, repetitions, band, radius = np.random.default_rng(43), 300, 20, 1000.0, 0.58
    frequencies = np.linspace(0, band, 1200)
    printed, corrected = [], []
    for _ in range(repetitions):
        x, y = rng.uniform(-1, 1, n), rng.choice([-1.0, 1.0], n)
        scores = boosted(x, y, frequencies, rounds=100)
        printed.append(theorem_4_3_as_printed(1e6 * scores, y, band, radius))
        corrected.append(
            margin_bound(scores, y, norm=1.0, R_w=band, R_x=radius, d=1, delta=DELTA).value
        )
    return {
        "n": n,
        "repetitions": repetitions,
        "largest printed": max(printed),
        "failures printed": float(np.mean(np.array(printed) < 0.5)),
        "failures corrected": float(np.mean(np.array(corrected) < 0.5)),
        "smallest corrected": min(corrected),
        "complexity": fourier_complexity(n, band, radius, 1),
    }


def rows_for_the_potential() -> Numbers:
    """Theorem 4.4: rows needed at low frequencies, where only the labels fluctuate."""
    rng, eps, band, repetitions = np.random.default_rng(44), 0.1, 0.1, 200
    w = np.linspace(0, band, 5)

    def transform(low: float, high: float) -> Any:
        return np.exp(0.5j * w * (low + high)) * np.sinc(w * (high - low) / (2 * np.pi))

    ideal = np.abs(0.85 * transform(0, 1) - 0.15 * transform(-1, 0.5)) ** 2

    def rate(n: int) -> float:
        failures = 0
        for _ in range(repetitions):
            y = np.where(rng.uniform(size=n) < 0.85, 1, -1)
            x = np.where(y > 0, rng.uniform(0, 1, n), rng.uniform(-1, 0.5, n))
            v = np.abs(y @ np.exp(1j * np.outer(x, w)) / n) ** 2
            failures += int(np.abs(v - ideal).max() > eps)
        return failures / repetitions

    def printed(band: float) -> int:
        """For d = 1 and rows of length up to 1."""
        return math.ceil(8 * band**2 * math.log(2 * band / (eps * DELTA)) / eps**2)

    needed = potential_sample_size(eps, DELTA, 1, band, 1.0)
    high = 100.0
    return {
        "eps": eps,
        "R_w": band,
        "printed": printed(band),
        "corrected": needed,
        "failures printed": rate(printed(band)),
        "failures corrected": rate(needed),
        "high": high,
        "high printed": printed(high),
        "high corrected": potential_sample_size(eps, DELTA, 1, high, 1.0),
    }


def rotation_of_a_harmonic() -> Numbers:
    """Theorem 2.2: one spherical harmonic of degree one, the kernel 3 x_3 x'_3 / (4 pi)."""
    pole, equator = np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0])

    def kernel(x: Floats, z: Floats) -> float:
        return float(3 / (4 * np.pi) * x[2] * z[2])

    return {"pole": kernel(pole, pole), "equator": kernel(equator, equator)}


# ---------------------------------------------------------------- Mukuta, Harada 2016


def moment_of_an_eigenfunction() -> Numbers:
    """Eq. (15): the second moment of psi_n under the density is not one."""
    b, variance = 0.5, 1.0
    a = 1 / (4 * variance)
    c = math.sqrt(a * a + 2 * a * b)
    nodes, weights = np.polynomial.hermite.hermgauss(60)
    x = nodes / math.sqrt(2 * a)  # of N(0, 1 / (4 a))
    orders = [0, 1, 2, 5, 10]

    def moment(n: int) -> float:
        polynomial = np.polynomial.hermite.hermval(math.sqrt(2 * c) * x, np.eye(n + 1)[n])
        psi = np.exp(-(c - a) * x**2) * polynomial
        return float(weights @ psi**2 / math.sqrt(np.pi))

    return {
        "n": orders,
        "moment": [moment(n) for n in orders],
        "formula": [math.sqrt(a / c) * 2**n * math.factorial(n) for n in orders],
    }


def ratio_of_eigenvalues(gamma: float, variance: float) -> float:
    """B, the ratio of the eigenvalues of one axis."""
    return 8 * gamma * variance / (math.sqrt(1 + 8 * gamma * variance) + 1) ** 2


def tail_of_the_eigenvalues() -> Numbers:
    """The tail after D features, d = 10, against `d B^(D/d)`: the paper's first experiment."""
    d = 10
    B = ratio_of_eigenvalues(1 / (2 * d), 1.0)
    sizes = [40, 160, 640, 2560]
    costs = geometric_costs(np.full(d, B))
    largest = select_products(costs, d * math.log1p(-B), max(sizes))
    kept = np.cumsum(np.exp(largest.log_values))

    def degree(D: int) -> int:
        """The smallest m such that all products of degree below m are at least D."""
        return next(m for m in range(1, 100) if math.comb(m - 1 + d, d) >= D)

    return {
        "d": d,
        "B": B,
        "D": sizes,
        "exact": [float(1 - kept[D - 1]) for D in sizes],
        "printed": [d * B ** (D / d) for D in sizes],
        "lower": [B ** degree(D) for D in sizes],
        "features needed": [float(f"{(D / d) ** d:.1e}") for D in sizes],
    }


def spectral_error(X: Floats, phi: Floats, gamma: float) -> float:
    """The norm of the error of the kernel matrix, divided by the number of rows."""
    squares = (X**2).sum(axis=1)
    K = np.exp(-gamma * np.maximum(squares[:, None] + squares - 2 * X @ X.T, 0))
    return float(np.linalg.norm(K - phi @ phi.T, 2) / len(X))


def bound_on_uniform_rows() -> Numbers:
    """Theorem 3.1 on uniform rows in ten dimensions: the error, and three statements about it."""
    rng, d, D, n = np.random.default_rng(31), 10, 286, 400  # all products of order up to 3
    gamma = 1 / (2 * d)
    X, rows = rng.uniform(-1, 1, (2000, d)), rng.uniform(-1, 1, (n, d))
    mercer = MercerFeatures(n_components=D, gamma=gamma).fit(X)
    phi = mercer.transform(rows)
    tail = float(1 - mercer.eigenvalues_.sum())
    # Integral of |p - q| = 2 E_q (1 - p / q)_+, for the Gaussian q of the same moments.
    draws = rng.normal(0, math.sqrt(1 / 3), (50_000, d))
    log_q = -1.5 * (draws**2).sum(axis=1) - d / 2 * math.log(2 * np.pi / 3)
    inside = (np.abs(draws) <= 1).all(axis=1)
    ratio = np.where(inside, np.exp(-d * math.log(2) - log_q), 0)
    distance = float(2 * np.maximum(0, 1 - ratio).mean())
    return {
        "d": d,
        "D": D,
        "error": spectral_error(rows, phi, gamma),
        "certificate": float(mercer.residual(rows).mean()),
        "distance": distance,
        "printed": tail + distance,
        "tail": tail,
    }


def error_of_mixtures() -> Numbers:
    """Eq. (16): eight clusters in ten dimensions; one Gaussian, weighted and whitened features."""
    rng, d, n, clusters = np.random.default_rng(16), 10, 600, 8
    gamma = 1 / (2 * d)
    centres = rng.normal(0, 5, (clusters, d))
    X, rows = (
        centres[rng.integers(0, clusters, m)] + rng.normal(0, 0.5, (m, d)) for m in (2000, n)
    )
    sizes = [40, 160, 640]
    B = ratio_of_eigenvalues(gamma, 0.25)
    result: Numbers = {
        "D": sizes,
        "clusters": clusters,
        "d": d,
        # (1 + (K - 1) R) d B^(D / (d K)) with the overlap R = 1, more than there is.
        "printed": [clusters * d * B ** (D / (d * clusters)) for D in sizes],
    }
    densities: dict[str, Density] = {
        "gaussian": "gaussian",
        "weighted": "weighted-mixture",
        "whitened": "mixture",
    }
    for name, density in densities.items():
        features = []
        for D in sizes:
            mercer = MercerFeatures(
                n_components=D, gamma=gamma, density=density, n_mixture=clusters, random_state=0
            )
            with warnings.catch_warnings():  # much of the kernel is not captured: that is shown
                warnings.simplefilter("ignore", MercerWarning)
                features.append(mercer.fit(X).transform(rows))
        result[name] = [spectral_error(rows, phi, gamma) for phi in features]
        result[f"captured {name}"] = [float((phi**2).sum(axis=1).mean()) for phi in features]
    return result


SIMULATIONS: dict[str, Callable[[], Numbers]] = {
    "lemma6": variance_of_the_loss,
    "theorem4": violations_of_theorem_4,
    "gradient": length_of_the_gradient,
    "regret": regret_of_the_game,
    "alternate": alternate_form,
    "ratio": competitive_ratio,
    "projection": alternating_projection,
    "margin": margin_bound_on_coins,
    "potential": rows_for_the_potential,
    "rotation": rotation_of_a_harmonic,
    "eigenfunctions": moment_of_an_eigenfunction,
    "tail": tail_of_the_eigenvalues,
    "uniform": bound_on_uniform_rows,
    "mixtures": error_of_mixtures,
}


def rounded(value: Any) -> Any:
    """Six digits of every number: what rounding errors of another machine do not change."""
    if isinstance(value, dict):
        return {key: rounded(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [rounded(entry) for entry in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def main() -> None:
    numbers = {name: rounded(simulate()) for name, simulate in SIMULATIONS.items()}
    NUMBERS.write_text(json.dumps(numbers, indent=1) + "\n")


if __name__ == "__main__":
    main()
