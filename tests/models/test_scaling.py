"""Columns brought to comparable size."""

import numpy as np

from bochner.models.scaling import ColumnScaler


def test_quantiles_closer_than_float32_can_tell():
    """Two knots that are one in float32 were a division of zero by zero."""
    step = np.spacing(np.float32(2**24))
    rows = np.float32(2**24) + step * np.arange(3, dtype=np.float32)[:, None]
    rows = rows.repeat([2, 600, 698], axis=0)
    assert np.isfinite(ColumnScaler("quantile").fit(rows).transform(rows)).all()


def test_a_constant_column_stays_constant():
    rows = np.c_[np.arange(9.0), np.full(9, 3.0)]
    for scaling in ("standard", "robust", "quantile"):
        scaled = ColumnScaler(scaling).fit_transform(rows)
        assert not np.ptp(scaled[:, 1])
        assert np.ptp(scaled[:, 0]) > 1
