"""Measurements as data: cells, how they are run and kept, and how they are reported."""
