"""Columns that arrive a few at a time."""

from __future__ import annotations

from typing import Any, Self

from bochner.engine.places import zeros


class GrowingColumns:
    """Columns appended one block after the other, in room that doubles when it is full.

    Room is made for `capacity` columns at first.
    """

    def __init__(self, n_rows: int, capacity: int = 0) -> None:
        self.n_rows, self.capacity, self.n_columns = n_rows, capacity, 0
        self.room: Any = None  # all columns, and zeros where there is room for more

    @property
    def array(self) -> Any:
        """All columns, of shape (n, D): a view, one column after the other in memory."""
        return self.room[:, : self.n_columns]

    def append(self, columns: Any) -> Self:
        """Take `columns`, of shape (n, p); `room` is the same object until it grows."""
        before, after = self.n_columns, self.n_columns + columns.shape[1]
        if self.room is None or after > self.room.shape[1]:
            old, double = self.room, 0 if self.room is None else 2 * self.room.shape[1]
            shape = (max(after, double, self.capacity), self.n_rows)
            self.room = zeros(shape, columns, columns.dtype).T
            if old is not None:
                self.room[:, :before] = old[:, :before]
        self.room[:, before:after] = columns
        self.n_columns = after
        return self
