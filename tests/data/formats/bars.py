"""A table format of the tests: a line that says so, then numbers between bars, the label last."""

import numpy as np

from bochner.data.formats.base import Contents, TableFormat, cut_rows, reading, sample_rows


class Bars(TableFormat):
    name = "bars"
    suffixes = (".bars",)

    def recognises(self, head):
        return head.startswith(b"bars\n")

    def read(self, path, request):
        X, y = _arrays(path)
        return sample_rows(Contents(X, y, None, len(y)), request)

    def stream(self, path, expected, notes):
        notes.append("bars were read.")
        yield from cut_rows(*_arrays(path))


def write_bars(path, X, y):
    np.savetxt(path, np.column_stack([X, y]), delimiter="|", header="bars", comments="")


def _arrays(path):
    with reading(path):
        values = np.loadtxt(path, delimiter="|", skiprows=1, ndmin=2)
    return values[:, :-1], values[:, -1]
