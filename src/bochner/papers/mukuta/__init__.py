"""Mukuta and Harada, Kernel approximation via empirical orthogonal decomposition for unsupervised
feature learning, CVPR 2016, measured again.

================  =============================================
Figure 1          :mod:`~bochner.papers.mukuta.densities`
Figure 2          :mod:`~bochner.papers.mukuta.images`
Figures 3 and 4   :mod:`~bochner.papers.mukuta.linear_models`
Figure 5          :mod:`~bochner.papers.mukuta.covariance`
Figure 6          :mod:`~bochner.papers.mukuta.fewer_maps`
Table 2           :mod:`~bochner.papers.mukuta.table2`
not in the paper  :mod:`~bochner.papers.mukuta.clusters`, :mod:`~bochner.papers.mukuta.variants`
================  =============================================

Figures 1 to 4 are pictures without numbers, so that only their shape can be compared: who is
better than whom, and where. Two methods are compared seed by seed, and a mean difference of at
most two standard errors is called noise.
"""
