"""All studies by name. A new study needs its file and one entry here."""

from __future__ import annotations

from bochner.papers.bullins import digits, figure1, regression
from bochner.papers.bullins import table1 as bullins_table1
from bochner.papers.letarte import frequencies, landmarks, mnist49, svm, toys
from bochner.papers.letarte import table1 as letarte_table1
from bochner.papers.letarte import table2 as letarte_table2
from bochner.papers.mukuta import (
    clusters,
    covariance,
    densities,
    fewer_maps,
    images,
    linear_models,
    table2,
    variants,
)
from bochner.papers.study import Study

STUDIES: dict[str, Study] = {
    study.name: study
    for study in (
        letarte_table1.TABLE1,
        letarte_table1.TABLE1_AUTHORS,
        letarte_table2.TABLE2,
        toys.FIGURE1,
        landmarks.FIGURE2,
        frequencies.FIGURE3,
        toys.FIGURE4,
        frequencies.FIGURE5,
        landmarks.FIGURE6,
        svm.SVM,
        mnist49.MNIST49,
        bullins_table1.TABLE1,
        figure1.FIGURE1,
        digits.DIGITS,
        regression.REGRESSION,
        densities.FIGURE1,
        images.FIGURE2,
        linear_models.FIGURE3,
        linear_models.FIGURE4,
        covariance.FIGURE5,
        fewer_maps.FIGURE6,
        table2.TABLE2,
        clusters.CLUSTERS,
        variants.VARIANTS_STUDY,
    )
}
