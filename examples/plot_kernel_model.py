"""
A model in one line
===================

Friedman's function of twenty columns, of which five matter. One line looks for the scaling of the
columns, the metric, the kernel, its bandwidth and the penalty, on held-out rows; everything that
was tried can be looked at afterwards.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_friedman1

from bochner import KernelRegressor

X, y = make_friedman1(2000, n_features=20, noise=1.0, random_state=0)
train, test, y_train, y_test = X[:1000], X[1000:], y[:1000], y[1000:]

model = KernelRegressor(n_components=256, random_state=0).fit(train, y_train)
print(f"R2 on test rows: {model.score(test, y_test):.3f}")

# %%
# What was chosen is a plain pipeline of scikit-learn, and what is promised of it is a bound.
print(model.pipeline_)
print(model.certificate_)

# %%
# Left: every setting that was tried, without a metric and with one, by its score on held-out
# rows. Middle: how much the function changes along each column. Right: predictions of test rows.
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
for metric in dict.fromkeys(tried["metric"] for tried in model.search_results_):
    points = [
        (number, tried["score"])
        for number, tried in enumerate(model.search_results_, start=1)
        if tried["metric"] == metric
    ]
    left.plot(*np.transpose(points), "o", label=metric or "no metric")
left.set(xlabel="setting tried", ylabel="R2 on held-out rows", ylim=(0, 1))
left.legend()
middle.bar(np.arange(1, 21), model.importances_, color=["C0"] * 5 + ["0.7"] * 15)
middle.set(xlabel="column", ylabel="importance")
right.plot(y_test, model.predict(test), ".", markersize=2)
right.axline((15, 15), slope=1, color="0.5", linewidth=1)
right.set(xlabel="target of test rows", ylabel="prediction")
plt.show()
