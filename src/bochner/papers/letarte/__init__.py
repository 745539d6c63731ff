"""Letarte, Morvant and Germain, Pseudo-Bayesian learning with kernel Fourier transform as prior,
AISTATS 2019, measured again.

=======================  ===============================================
Table 1                  :mod:`~bochner.papers.letarte.table1`
its tuned landmarks      :mod:`~bochner.papers.letarte.tuned_landmarks`
its SVM, one split       :mod:`~bochner.papers.letarte.svm`
Table 2                  :mod:`~bochner.papers.letarte.table2`
Figures 1 and 4          :mod:`~bochner.papers.letarte.toys`
Figures 2 and 6          :mod:`~bochner.papers.letarte.landmarks`
Figures 3 and 5          :mod:`~bochner.papers.letarte.frequencies`
few frequencies of MNIST :mod:`~bochner.papers.letarte.mnist49`
=======================  ===============================================

The published numbers are from one split; ours are means with the standard error over splits: one
split decides little. The figures are pictures without numbers, so that only the statements of the
paper about them can be checked.
"""
