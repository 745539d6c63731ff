"""Learned metrics: which columns and directions matter, before any map."""
