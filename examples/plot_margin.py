"""
Frequencies found in a game
===========================

The windmill of Bullins, Zhang and Zhang (2018), Figure 1a. Top: the rows, by dual weight; the game
moves the weight to the boundary between the arms. Middle: the Fourier potential of the weighted
labels, with the frequencies chosen at its peaks. Bottom: what a linear model on the features
decides. Fitting goes on from where it was (``warm_start``), so that every column is a stage of one
game.
"""

from copy import deepcopy

import numpy as np
from sklearn.svm import LinearSVC

from bochner import FourierFeatures, MarginFourierFeatures
from bochner.data import windmill
from bochner.plots import Panel, potential_landscape, rounds_figure

X, y = windmill(1000, arms=2, random_state=0)
X_test, y_test = windmill(20_000, arms=2, random_state=1)

# %%
# Three stages of one game, which is played to its end: no random frequencies follow.
game = MarginFourierFeatures(stop=None, warm_start=True, random_state=0)
panels = []
for n_frequencies in (5, 20, 100):
    before = 0 if not panels else game.frequencies_.shape[1]
    game.set_params(n_components=2 * n_frequencies).fit(X, y)
    model = LinearSVC(C=100.0, max_iter=20_000).fit(game.transform(X), y)
    accuracy = model.score(game.transform(X_test), y_test)
    stage = deepcopy(game)
    panels.append(
        Panel(
            title=f"{n_frequencies} frequencies, {accuracy:.1%}",
            weights=np.abs(stage.dual_weights_[:, 0]),
            score=lambda Z, m=model, f=stage: m.decision_function(f.transform(Z)),
            frequencies=stage.frequencies_,
            newest=stage.frequencies_[:, before:],
        )
    )
figure = rounds_figure(X, y, panels)
figure.savefig("margin.png")

# %%
# The potential at the start and at the end: the game has flattened its peaks.
start = potential_landscape(X, y / len(y))
end = potential_landscape(X, game.dual_weights_, game.frequencies_)

# %%
# Random frequencies with the kernel's usual width, as many as the last stage had.
random = FourierFeatures(n_components=200, gamma="median", random_state=0).fit(X)
model = LinearSVC(C=100.0, max_iter=20_000).fit(random.transform(X), y)
print(f"learned: {accuracy:.1%}")
print(f"random: {model.score(random.transform(X_test), y_test):.1%}")
print(f"gap to the equilibrium, estimated: {game.duality_gap_:.2f}")
