"""
Which columns matter
====================

Friedman's function has five columns that matter, and here fifteen that do not. A Gaussian kernel
looks at all of them alike: rows that agree in what matters are far apart in the rest. The metric
is learned before any map, in a few rounds, each from the gradients of the function before, and
switches the others off.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.pipeline import make_pipeline

from bochner import FourierFeatures, GradientMetric
from bochner.linear import RidgeRegressor

X, y = make_friedman1(4000, n_features=20, noise=1.0, random_state=0)
X -= X.mean(axis=0)
train, test, y_train, y_test = X[:2000], X[2000:], y[:2000], y[2000:]
metric = GradientMetric(n_frequencies=256, random_state=0).fit(train, y_train)

# %%
# Round 0 is the one without a metric. The modes go on as long as their error on held-out rows
# falls; the best of them is used, or none where none helps.
for record in metric.history_:
    print("{mode!s:>8}  round {round}  R2 on held-out rows {score:.3f}".format(**record))
print("chosen:", metric.mode_)


# %%
# The features that follow need fewer columns. Left: error on held-out rows, round by round.
# Middle: how much the function changes along each column. Right: R2 on test rows against the
# width.
def score(train, test, width):
    features = FourierFeatures(n_components=width, gamma="median", random_state=0)
    model = make_pipeline(features, RidgeRegressor(C="auto", random_state=0))
    return model.fit(train, y_train).score(test, y_test)


widths = [20, 60, 200, 600]
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
first = metric.history_[0]
for mode in ("diagonal", "root", "full"):
    chain = [first, *(record for record in metric.history_ if record["mode"] == mode)]
    left.plot([r["round"] for r in chain], [r["error"] for r in chain], "o-", label=mode)
left.set(xlabel="round", ylabel="error on held-out rows", ylim=(0, None))
left.set_xticks(range(5))
left.legend()
middle.bar(np.arange(1, 21), metric.importances_, color=["C0"] * 5 + ["0.7"] * 15)
middle.set(xlabel="column", ylabel="importance")
for name, rows in {
    "no metric": (train, test),
    "metric": (metric.transform(train), metric.transform(test)),
}.items():
    right.plot(widths, [score(*rows, width) for width in widths], "o-", label=name)
right.set(xlabel="columns of the features", ylabel="R2 on test rows", xscale="log")
right.set_xticks(widths, widths)
right.minorticks_off()
right.legend()
plt.show()
