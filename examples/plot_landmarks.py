"""
One similarity for each landmark
================================

Five landmarks on two-dimensional data (Figure 1 of Letarte et al. 2019). Plain landmarks all use
the same round kernel. A learned one has its own shape: it is large where the labels agree with the
landmark's, whatever the direction. On clean data with enough landmarks, plain ones do as well.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.svm import LinearSVC

from bochner import LandmarkSimilarities

rng = np.random.default_rng(3)
X = rng.uniform(-1, 1, size=(1500, 2))
y = np.where(np.sin(4 * X[:, 0]) + 0.3 * rng.normal(size=len(X)) > 0, 1, -1)
points = rng.choice(len(X), 5, replace=False)
grid = np.stack(np.meshgrid(*[np.linspace(-1, 1, 120)] * 2), axis=-1).reshape(-1, 2)

# %%
# Similarity to each landmark, and the decision of a linear model on the five similarities.
figure, axes = plt.subplots(2, 6, figsize=(13, 4.6), layout="constrained")
for row, posterior in zip(axes, (None, "kl"), strict=True):
    similarities = LandmarkSimilarities(
        landmarks=(X[points], y[points]),
        posterior=posterior,
        beta=3.0,
        gamma=4.0,
        n_frequencies=256,
        random_state=0,
    ).fit(X, y)
    values = similarities.transform(grid)
    model = LinearSVC(C=10.0).fit(similarities.transform(X), y)
    accuracy = model.score(similarities.transform(X), y)
    for index, axis in enumerate(row[:5]):
        axis.imshow(
            values[:, index].reshape(120, 120),
            origin="lower",
            extent=(-1, 1, -1, 1),
            cmap="RdBu",
            vmin=-1,
            vmax=1,
        )
        axis.plot(*similarities.landmarks_[index], "k*")
    decision = model.predict(values).reshape(120, 120)
    row[5].imshow(decision, origin="lower", extent=(-1, 1, -1, 1), cmap="RdBu", alpha=0.4)
    row[5].scatter(*X[:400].T, c=y[:400], s=4, cmap="RdBu")
    row[5].set_title(f"accuracy {accuracy:.1%}")
    row[0].set_ylabel("plain" if posterior is None else "learned")
for axis in axes.flat:
    axis.set(xticks=[], yticks=[])
