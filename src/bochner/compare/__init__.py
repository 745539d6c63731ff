"""Comparison of methods side by side on a user's data."""
