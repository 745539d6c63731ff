"""Linear models on features, and the solvers below them."""

from bochner.linear.dual_set import project_onto_dual_set
from bochner.linear.heads import RidgeClassifier, RidgeRegressor, SquaredHingeClassifier
from bochner.linear.ridge import GrowingRidge
from bochner.linear.squared_hinge import (
    SquaredHingeSolution,
    solve_squared_hinge,
    squared_hinge_path,
)

__all__ = [
    "GrowingRidge",
    "RidgeClassifier",
    "RidgeRegressor",
    "SquaredHingeClassifier",
    "SquaredHingeSolution",
    "project_onto_dual_set",
    "solve_squared_hinge",
    "squared_hinge_path",
]
