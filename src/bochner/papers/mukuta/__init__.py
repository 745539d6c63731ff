"""Mukuta and Harada (2016), done again."""
