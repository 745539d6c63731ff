"""
A posterior over cosines
========================

The Gaussian kernel is an average of cosines over all directions. When only some directions
matter, most of these cosines are noise. The posterior keeps those that align with the labels, so
that a few of them do the work of many random ones. Those that align best are alike, and more of
them gain little: frequencies that are chosen as a set, the default, complement each other. Where
thousands of features are affordable, neither gains much.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import RidgeClassifierCV
from sklearn.model_selection import train_test_split

from bochner import FourierFeatures, PosteriorFourierFeatures

X, y = load_digits(return_X_y=True)
X, y = X / 16, y % 2
widths = [10, 20, 40, 80, 160, 320]
seeds = range(5)

# %%
# The losses are computed once; another strength or width of the posterior costs nothing more. A
# set is chosen for each width.


def accuracies(seed):
    train, test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=seed)
    settings = {"gamma": 0.1, "n_candidates": 5000, "random_state": seed}
    learned = PosteriorFourierFeatures(draw="without_replacement", **settings).fit(train, y_train)
    rows = []
    for width in widths:
        random = FourierFeatures(n_components=width, gamma=0.1, random_state=seed).fit(train)
        maps = (
            random,
            learned.with_posterior(n_components=width),
            learned.with_posterior(n_components=width, divergence="chi2"),
            PosteriorFourierFeatures(n_components=width, **settings).fit(train, y_train),
        )
        model = RidgeClassifierCV(alphas=np.logspace(-5, 1, 7))
        rows.append(
            [model.fit(m.transform(train), y_train).score(m.transform(test), y_test) for m in maps]
        )
    return rows, learned


results = []
for seed in seeds:
    scores, learned = accuracies(seed)
    results.append(scores)
results = np.array(results)

# %%
# Left: the alignment loss of every candidate; an uninformative cosine has 1/2, as both classes are
# of one size. Right: the accuracy of a linear model on the features, with standard errors.
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
left.hist(learned.losses_, bins=80, color="0.7", label="candidates")
left.hist(
    learned.losses_,
    bins=80,
    weights=learned.posterior_ * 5000,
    color="C3",
    alpha=0.7,
    label="posterior",
)
left.axvline(0.5, color="k", lw=0.8)
left.set(xlabel="alignment loss", ylabel="weight", yscale="log")
left.legend()
mean, error = results.mean(axis=0), results.std(axis=0, ddof=1) / np.sqrt(len(results))
for index, name in enumerate(("random", "posterior, kl", "posterior, chi2", "chosen set")):
    right.errorbar(widths, 100 * mean[:, index], 100 * error[:, index], capsize=3, label=name)
right.set(xlabel="columns", ylabel="test accuracy, %", xscale="log")
right.legend()

# %%
# The guarantee is about the alignment loss of the drawn frequencies on new pairs, and must be
# compared with 1/2. Here the rows are too few for it to say anything.
print(learned.with_posterior(beta=1.0).bound(delta=0.05))
