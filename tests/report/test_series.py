"""Lines can be told apart, by the colour-blind and in both themes."""

import itertools

import numpy as np
import pytest

from bochner.report.series import DARK, LIGHT, MARKS, N_COLOURS, method_series, numbered

# Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB.
EYES = {
    "all cones": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def linear(colour):
    c = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    xyz = TO_XYZ @ np.clip(rgb, 0, 1) / TO_XYZ.sum(axis=1)
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def contrast(one, other):
    low, high = sorted(float(TO_XYZ[1] @ linear(colour)) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("eye", EYES)
def test_colours_differ_to_every_eye(theme, eye):
    seen = [lab(EYES[eye] @ linear(theme[f"series-{i}"])) for i in range(N_COLOURS)]
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) > 15


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_contrast_is_that_of_the_accessibility_guidelines(theme):
    """WCAG 2.2: 4.5 for text, 3 for graphics."""
    for text, ground in itertools.product(("ink", "soft", "accent"), ("paper", "card", "tint")):
        assert contrast(theme[text], theme[ground]) >= 4.5, (text, ground)
    assert contrast(theme["warning"], theme["warning-tint"]) >= 4.5
    for name in ("quiet", "mark", *(f"series-{i}" for i in range(N_COLOURS))):
        for ground in ("paper", "card"):
            assert contrast(theme[name], theme[ground]) >= 3, name


def test_themes_have_the_same_names():
    assert LIGHT.keys() == DARK.keys()


def test_fifty_methods_all_look_different():
    looks = method_series((f"m{i}", False) for i in range(50)).values()
    assert len({(look.colour, look.mark) for look in looks}) == 50
    assert len({look.key for look in looks}) == 50


def test_baselines_are_quiet_and_come_last():
    looks = method_series([("theirs", True), ("ours", False), ("theirs", True)])
    assert list(looks) == ["ours", "theirs"]
    assert not looks["ours"].quiet
    assert (looks["theirs"].colour, looks["theirs"].symbol) == ("quiet", "circle-open")
    assert looks["theirs"].dash != "solid"


def test_published_has_the_colour_of_ours_and_is_dashed():
    ours, theirs = numbered(3, "a", "x"), numbered(3, "b", "x", published=True)
    assert (ours.colour, ours.mark) == (theirs.colour, theirs.mark)
    assert (ours.dash, theirs.dash) == ("solid", "dash")
    assert ours.mark_path == MARKS[ours.mark]
