"""Eight clusters in ten dimensions: data that a single Gaussian density fits badly.

Not in the paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from bochner.papers.groups import Groups
from bochner.papers.mukuta.densities import measure
from bochner.papers.mukuta.feature_maps import COMMON, NYSTROEM
from bochner.papers.mukuta.gram_error import collect, error_ratio, error_sections, make_study
from bochner.records.cells import Result
from bochner.records.sections import Claim, Section

METHODS = (*COMMON, "weighted 4", "mixture 4", "mixture 8", "mixture 16")


def sections(results: Sequence[Result]) -> list[Section]:
    """Report the errors, and what we expect."""
    heading = "Eight clusters: normalised spectral error of the Gram matrix"
    return error_sections(results, heading, "Not in the paper.", claims, "What we expect")


def claims(groups: Groups) -> list[Claim]:
    """Check the claim that as many Gaussians as clusters help."""
    text = "the orthogonalised mixture of 8 has at most half of Nystroem's error"
    return [error_ratio(groups, text, "mixture 8", NYSTROEM, limit=0.5)]


CLUSTERS = make_study(
    item="Clusters",
    summary="error of the Gram matrix of clusters (not in the paper)",
    tasks=("clusters",),
    quick_time="10 s",
    full_time="about 20 min",
    collect=partial(collect, "clusters", methods=METHODS, widths=(40, 160, 640)),
    measure=measure,
    sections=sections,
)
