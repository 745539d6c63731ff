"""Errors raised while reading a user's data."""

from __future__ import annotations


class TableError(ValueError):
    """A file cannot be used; the message is one clear line for the user."""


class EmptyFileError(TableError):
    """A file has no rows to learn from; among several files it is left out."""


class DamagedFileError(TableError):
    """A file cannot be read to its end; among several files it may be left out."""
