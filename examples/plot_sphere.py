"""
Harmonics that draw a checkerboard
==================================

A checkerboard on the sphere (Bullins, Zhang and Zhang 2018, Figure 1c). The game picks spherical
harmonics; one that is picked again becomes heavier instead of a second column, so that a hundred
rounds give a few dozen columns.
"""

import numpy as np
from sklearn.svm import LinearSVC

from bochner import MarginHarmonicFeatures
from bochner.data import checkerboard_sphere
from bochner.margin.sphere.harmonics import harmonics_at
from bochner.plots import checkerboard_on_sphere, harmonic_on_sphere

X, y = checkerboard_sphere(2000, a=3, b=4, random_state=0)
X_test, y_test = checkerboard_sphere(20_000, a=3, b=4, random_state=1)

board = checkerboard_on_sphere(X, y)

# %%
# The three heaviest harmonics.
features = MarginHarmonicFeatures(n_components=100).fit(X, y)
heaviest = np.argsort(-features.weights_)[:3]
figure = harmonic_on_sphere(
    [lambda Z, k=k: harmonics_at(Z, features.orders_[[k]])[:, 0] for k in heaviest],
    titles=[
        f"order {tuple(int(o) for o in features.orders_[k])}, {features.weights_[k]:.0%}"
        for k in heaviest
    ],
)

figure.savefig("sphere.png")

# %%
# A linear model on them.
model = LinearSVC(C=10.0, max_iter=20_000).fit(features.transform(X), y)
accuracy = model.score(features.transform(X_test), y_test)
print(f"{len(features.weights_)} harmonics: {accuracy:.1%}")
