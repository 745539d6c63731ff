"""
A rough function, and the kernel for it
=======================================

Steps and kinks in the plane. A Gaussian kernel fits them only at a bandwidth that has to be found;
the exponential kernel does at nearly any. Its random frequencies are Cauchy-tailed, and hundreds
of them stay behind; its values at as many landmarks do not.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from bochner import FourierFeatures, NystroemFeatures
from bochner.linear import RidgeRegressor
from bochner.nystroem.features import NystroemWarning

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, size=(2000, 2))
grid = np.stack(np.meshgrid(*[np.linspace(-1, 1, 100)] * 2), axis=-1).reshape(-1, 2)


def rough(X):
    return np.round(3 * X[:, 0]) * np.sign(X[:, 1]) + np.abs(X).max(axis=1)


y = rough(X) + 0.2 * rng.normal(size=len(X))

# %%
# The same width and the same linear model everywhere; `scale` is an inverse length.
MAPS = {
    "frequencies, Gaussian": lambda scale: FourierFeatures(n_components=400, gamma=scale**2),
    "frequencies, exponential": lambda scale: FourierFeatures(
        n_components=400, kernel="exponential", gamma=scale
    ),
    "landmarks, Gaussian": lambda scale: NystroemFeatures(400, gamma=scale**2),
    "landmarks, exponential": lambda scale: NystroemFeatures(
        400, kernel="exponential", gamma=scale
    ),
}


def predict(name, scale):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NystroemWarning)  # of wide Gaussians: fewer directions
        phi = MAPS[name](scale).set_params(random_state=0).fit(X)
    head = RidgeRegressor(C="auto", random_state=0).fit(phi.transform(X), y)
    return head.predict(phi.transform(grid))


def r2(values):
    return 1 - np.mean((values - rough(grid)) ** 2) / np.var(rough(grid))


figure, axes = plt.subplots(1, 5, figsize=(15, 3.4), layout="constrained")
pictures = {"the function": rough(grid)} | {name: predict(name, 1.0) for name in MAPS}
for axis, (name, values) in zip(axes, pictures.items(), strict=True):
    axis.imshow(values.reshape(100, 100), origin="lower", cmap="RdBu", vmin=-3, vmax=4)
    axis.set(xticks=[], yticks=[], title=f"{name}\nR2 {r2(values):.3f}")

# %%
# How much the inverse length matters.
scales = (0.1, 0.3, 1.0, 2.0, 4.0)
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
for name in MAPS:
    left.semilogx(scales, [r2(predict(name, scale)) for scale in scales], "o-", label=name)
left.set(xlabel="inverse length", ylabel="R2", ylim=(0.7, 1.0))
left.legend()

# %%
# Certificates: the error of a kernel value is at most the root of the product of two residuals.
# The mean residual of rows that took no part in the fit falls with the number of landmarks.
new = rng.uniform(-1, 1, size=(500, 2))
widths = (25, 50, 100, 200, 400)
for rule in ("random", "kmeans", "leverage"):
    maps = (NystroemFeatures(m, kernel="exponential", gamma=2.0, landmarks=rule) for m in widths)
    means = [phi.set_params(random_state=0).fit(X).residual(new).mean() for phi in maps]
    right.loglog(widths, means, "o-", label=rule)
right.set(xlabel="landmarks", ylabel="mean residual of new rows")
right.legend()
