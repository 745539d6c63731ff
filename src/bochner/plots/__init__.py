"""Plots of learned models, as Matplotlib figures (``pip install bochner[plots]``).

Every function returns a :class:`matplotlib.figure.Figure` and has no side effects: no window is
opened, no global state is changed, and no display is needed. Use ``figure.savefig("name.png")`` to
write the figure to a file.
"""

from bochner.plots.decisions import decision_regions, dual_weights
from bochner.plots.margin import Panel, rounds_figure
from bochner.plots.potential import potential_landscape
from bochner.plots.sphere import checkerboard_on_sphere, harmonic_on_sphere

__all__ = [
    "Panel",
    "checkerboard_on_sphere",
    "decision_regions",
    "dual_weights",
    "harmonic_on_sphere",
    "potential_landscape",
    "rounds_figure",
]
