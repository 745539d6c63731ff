"""Bullins, Zhang and Zhang, Not-so-random features, ICLR 2018, measured again.

=================  ===========================================
Table 1            :mod:`~bochner.papers.bullins.table1`
Figure 1a          :mod:`~bochner.papers.bullins.windmill`
Figures 1b, 1c     :mod:`~bochner.papers.bullins.checkerboard`
not in the paper   :mod:`~bochner.papers.bullins.digits`,
                   :mod:`~bochner.papers.bullins.regression`
=================  ===========================================

The published numbers are from one run; ours are means with the standard error over seeds. Random
features are always tuned: a narrower bandwidth alone closes some gaps to a large part.
"""
