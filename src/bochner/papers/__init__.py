"""The tables and figures of three papers, measured again: one study, one file.

:mod:`bochner.papers.registry` lists them all; ``bochner reproduce`` runs them.
"""
