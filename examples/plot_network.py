"""
Patches under a kernel network
==============================

A convolutional kernel network (Mairal et al. 2014; Mukuta and Harada 2016) compares images by
their patches. First, the patches that answer most strongly to some features of the first layer,
with Mercer features of the patches and with landmarks (Nystroem). The first eigenfunctions are
edges, found without a label. Then, with few labels, a linear model on the network's features is
better than one on the pixels; which approximation of the patch kernel it has matters little.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import RidgeClassifierCV
from sklearn.model_selection import train_test_split

from bochner import ConvolutionalKernelNetwork
from bochner.images.layers import PatchLayer
from bochner.images.patches import extract_patches, normalize_patches

X, y = load_digits(return_X_y=True)
images = X.reshape(-1, 8, 8) / 16


def network(approximation, seed=0):
    return ConvolutionalKernelNetwork(
        layers=[PatchLayer(patch=3, maps=40, stride=2)],
        approximation=approximation,
        random_state=seed,
    )


# %%
# Every patch of the images as a direction: its mean is subtracted, its norm divided out. The mean
# of the 20 patches of largest value is what a feature looks for.
patches = extract_patches(images[:500, :, :, None], 3).reshape(-1, 9)
directions, norms = normalize_patches(patches, 1, center=True)
directions = directions[norms > 0]
figure, axes = plt.subplots(2, 12, figsize=(12, 2.6), layout="constrained")
for row, approximation in zip(axes, ("mercer", "nystroem"), strict=True):
    patch_map = network(approximation).fit(images).approximations_[0]
    values = patch_map.transform(directions)
    for axis, column in zip(row, values[:, 1:13].T, strict=True):
        strongest = directions[np.argsort(-column)[:20]].mean(axis=0)
        axis.imshow(strongest.reshape(3, 3), cmap="gray", vmin=-0.7, vmax=0.7)
        axis.set(xticks=[], yticks=[])
    row[0].set_ylabel(approximation)

# %%
# Accuracy with few labelled images; the network itself sees all training images, without labels.
counts = (20, 50, 100, 200, 500)
names = ("pixels", "mercer", "fourier", "nystroem")
scores = np.empty((3, len(names), len(counts)))
for seed in range(3):
    train, test, y_train, y_test = train_test_split(images, y, test_size=0.5, random_state=seed)
    for index, name in enumerate(names):
        if name == "pixels":
            Z, Z_test = train.reshape(-1, 64), test.reshape(-1, 64)
        else:
            features = network(name, seed).fit(train)
            Z, Z_test = features.transform(train), features.transform(test)
        for place, count in enumerate(counts):
            model = RidgeClassifierCV(alphas=np.logspace(-5, 2, 8)).fit(Z[:count], y_train[:count])
            scores[seed, index, place] = model.score(Z_test, y_test)
figure, axis = plt.subplots(figsize=(6, 4), layout="constrained")
mean, error = scores.mean(axis=0), scores.std(axis=0, ddof=1) / np.sqrt(len(scores))
for name, m, e in zip(names, mean, error, strict=True):
    axis.errorbar(counts, 100 * m, 100 * e, capsize=3, label=name)
axis.set(xscale="log", xlabel="labelled images", ylabel="test accuracy, %")
axis.set_xticks(counts, labels=map(str, counts), minor=False)
axis.minorticks_off()
axis.legend()
for name, m in zip(names, mean, strict=True):
    print(f"{name:>8}: {m[-1]:.1%} with {counts[-1]} labels")
