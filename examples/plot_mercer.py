"""
Eigenfunctions of a kernel under the data's own density
=======================================================

Mercer features after Mukuta and Harada (2016). First, the leading features on a tilted cloud of
points in the plane. They follow the axes of the cloud, oscillate more from one to the next, and
vanish where there are no rows. Then the error of the kernel on rows that no map has seen, against
the number of columns, and the certificates (dotted) of the maps that have one. Mercer features are
best where one Gaussian describes the rows. On two moons Nystroem, which adapts to any density, is
ahead once it has enough landmarks.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.kernel_approximation import Nystroem

from bochner import FourierFeatures, MercerFeatures
from bochner.guarantees import compare_approximations
from bochner.kernels import Gaussian

rng = np.random.default_rng(0)
cloud = rng.normal(size=(3000, 2)) @ np.array([[1.5, 1.0], [0.0, 0.6]])
moons = make_moons(3000, noise=0.05, random_state=0)[0]

# %%
# The first six features, and what they leave out: the residual ``k(x, x) - |phi(x)|^2`` is small
# among the rows and one far away from them.
mercer = MercerFeatures(n_components=6, gamma=0.5).fit(cloud)
side = np.linspace(-5, 5, 100)
grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
pictures = [*mercer.transform(grid).T, mercer.residual(grid)]
titles = [*(f"eigenvalue {value:.3f}" for value in mercer.eigenvalues_), "residual"]
figure, axes = plt.subplots(1, 7, figsize=(14, 2.3), layout="constrained")
for axis, picture, title in zip(axes, pictures, titles, strict=True):
    limit = np.abs(picture).max()
    axis.imshow(
        picture.reshape(100, 100),
        origin="lower",
        extent=(-5, 5, -5, 5),
        cmap="RdBu",
        vmin=-limit,
        vmax=limit,
    )
    axis.scatter(*cloud[:300].T, s=1, c="black", alpha=0.3)
    axis.set(xticks=[], yticks=[], xlim=(-5, 5), ylim=(-5, 5), title=title)

# %%
# Error against columns on held-out rows, and what is guaranteed with probability 0.95.
widths = (10, 20, 40, 80, 160)
kinds = {"random": FourierFeatures, "Nystroem": Nystroem, "Mercer": MercerFeatures}
data = {"cloud": (cloud, 0.5), "moons": (moons, 5.0)}
figure, axes = plt.subplots(1, 2, figsize=(11, 3.5), layout="constrained")
for axis, (name, (X, gamma)) in zip(axes, data.items(), strict=True):
    comparisons = []
    for width in widths:
        maps = {
            kind: make(n_components=width, gamma=gamma, random_state=0).fit(X[:1500])
            for kind, make in kinds.items()
        }
        comparisons.append(compare_approximations(maps, Gaussian(gamma=gamma), X[1500:]))
    for index, kind in enumerate(kinds):
        rows = [comparison.rows[index] for comparison in comparisons]
        axis.loglog(widths, [row.squared_error**0.5 for row in rows], f"C{index}", label=kind)
        if rows[0].residual_bound is not None:
            axis.loglog(widths, [row.residual_bound for row in rows], f"C{index}:")
    axis.set(title=f"{name}: error, and its certificate (dotted)", xlabel="columns")
    axis.legend()
    last = comparisons[-1]
    print(f"{name}, {widths[-1]} columns on {last.n} held-out rows\n{last}")
