"""The error of everything that reads a user's data."""

from __future__ import annotations


class TableError(ValueError):
    """A file that cannot be used, in one clear line for the user."""
