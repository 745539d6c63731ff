import pytest

from bochner import FourierFeatures
from bochner.images.layers import ARCHITECTURES, GradientLayer, PatchLayer, resolve_layers


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"patch": 0}, "patch must be a whole number of at least 1, got 0"),
        ({"patch": 2.5}, r"patch must .*, got 2\.5"),
        ({"maps": 0}, "maps must .*, got 0"),
        ({"maps": None}, "maps=None leaves maps to a transformer"),
        ({"stride": True}, "stride must .*, got True"),
        ({"radius": -1}, "radius must .* at least 0, got -1"),
        ({"width": 0.0}, r"width must be a positive number or None, got 0\.0"),
        ({"center": "yes"}, "center must be True, False or None, got 'yes'"),
        ({"quantile": 1.5}, r"quantile=1\.5 must be a number from 0 to 1"),
        ({"quantile": "own"}, "quantile='own' leaves quantile to a transformer"),
        ({"approximation": "random"}, "approximation='random' must be one of"),
        ({"approximation": FourierFeatures}, "must be one of"),
    ],
)
def test_wrong_layers_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        PatchLayer(**({"patch": 3, "maps": 4} | wrong))


def test_wrong_gradient_layers_are_refused():
    with pytest.raises(ValueError, match="maps must be a whole number of at least 3, got 2"):
        GradientLayer(maps=2)
    with pytest.raises(ValueError, match="width must be"):
        GradientLayer(width=-1)


def test_a_transformer_may_keep_its_own_width_and_bandwidth():
    layer = PatchLayer(3, None, approximation=FourierFeatures(), quantile="own")
    assert layer.maps is None


def test_names_and_lists():
    assert resolve_layers("mnist-gm") == ARCHITECTURES["mnist-gm"]
    assert resolve_layers([GradientLayer()]) == (GradientLayer(),)
    with pytest.raises(ValueError, match=r"layers='mnist' .* use one of \['cifar-gm'"):
        resolve_layers("mnist")
    with pytest.raises(ValueError, match="layers is empty"):
        resolve_layers([])
    with pytest.raises(ValueError, match=r"layers\[0\] must be a PatchLayer"):
        resolve_layers([(3, 4, 2)])
    with pytest.raises(ValueError, match=r"layers\[1\] is a GradientLayer"):
        resolve_layers([PatchLayer(2, 4), GradientLayer()])
