import numpy as np
import pytest

from bochner.data import BUNDLED, load_bundled


@pytest.mark.parametrize("name", BUNDLED)
def test_load(name):
    data = load_bundled(name)
    assert data.X.dtype == np.float64
    assert len(data.X) == len(data.y)
    assert str(data).startswith(name)


def test_unknown_name():
    with pytest.raises(ValueError, match="unknown dataset 'mnist'"):
        load_bundled("mnist")
