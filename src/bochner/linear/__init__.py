"""Linear methods on features: squared-hinge support vector machines, ridge, the dual set."""

from bochner.linear.dual_set import project_onto_dual_set
from bochner.linear.ridge import GrowingRidge
from bochner.linear.squared_hinge import (
    SquaredHingeSolution,
    solve_squared_hinge,
    squared_hinge_path,
)

__all__ = [
    "GrowingRidge",
    "SquaredHingeSolution",
    "project_onto_dual_set",
    "solve_squared_hinge",
    "squared_hinge_path",
]
