import numpy as np
import pytest

from bochner.targets import Target


def test_rows_of_one_class_have_nothing_to_centre():
    target = Target(np.array([0, 1]))
    with pytest.raises(ValueError, match="one class only"):
        target.columns_and_signs(np.ones(5, int), centred=True)
    columns, _ = target.columns_and_signs(np.array([0, 1, 1]), centred=True)
    np.testing.assert_allclose(columns.sum(axis=0), 0, atol=1e-15)
