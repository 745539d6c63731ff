"""Measurements as data: cells, how they are run and kept, and what is said of them."""
