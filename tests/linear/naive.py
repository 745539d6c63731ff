"""Slow and readable versions of what is tested."""

import numpy as np
from sklearn.linear_model import Ridge


def ridge_of_least_criterion(X, Y, weights=None):
    """Ridge regression, its penalty by generalised cross-validation with explicit hat matrices."""
    weights = np.ones(len(X)) if weights is None else weights
    roots, n = np.sqrt(weights)[:, None], weights.sum()
    A, B = (roots * (M - np.average(M, axis=0, weights=weights)) for M in (X, Y))
    criteria = {}
    for penalty in n * 10.0 ** np.arange(-9, 1.5, 0.5):
        hat = A @ np.linalg.solve(A.T @ A + penalty * np.eye(A.shape[1]), A.T)
        criteria[penalty] = ((B - hat @ B) ** 2).sum() / (n - 1 - np.trace(hat)) ** 2
    best = Ridge(alpha=min(criteria, key=criteria.get), solver="cholesky")
    return best.fit(X, Y, sample_weight=weights)


def kernel_ridge(K, Y, weights, alpha):
    """Coefficients and intercepts of kernel ridge regression, for positive weights or None."""
    n = len(K)
    inverse = np.ones(n) if weights is None else 1 / weights
    ones = np.ones((n, 1))
    whole = np.block([[K + alpha * np.diag(inverse), ones], [ones.T, np.zeros((1, 1))]])
    solution = np.linalg.solve(whole, np.vstack([Y, np.zeros((1, Y.shape[1]))]))
    return solution[:-1], solution[-1]


def krylov_fit(Phi, target, n_steps):
    """Least squares among combinations of ``(Phi^T Phi)^j Phi^T y``, centred, and an intercept."""
    centred, y = Phi - Phi.mean(axis=0), target - target.mean()
    vector, basis = centred.T @ y, []
    for _ in range(n_steps):
        for other in basis:
            vector = vector - other * (other @ vector)
        basis.append(vector / np.linalg.norm(vector))
        vector = centred.T @ (centred @ basis[-1])
    space = np.column_stack(basis)
    coefficients = space @ np.linalg.lstsq(centred @ space, y)[0]
    return coefficients, target.mean() - Phi.mean(axis=0) @ coefficients
