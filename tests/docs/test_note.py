"""The note on errata: its numbers are those of its simulations, which show what it says."""

import importlib.util
import json
import re
from pathlib import Path

import numpy as np
import pytest

from bochner import MercerFeatures, guarantees

NOTE = Path(__file__).parents[2] / "docs" / "note"


def load_simulations():
    spec = importlib.util.spec_from_file_location("note_simulations", NOTE / "simulations.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


simulations = load_simulations()
NUMBERS = json.loads((NOTE / "numbers.json").read_text())


def flat(value):
    """All numbers in dictionaries and lists."""
    if isinstance(value, dict | list):
        entries = value.values() if isinstance(value, dict) else value
        return [number for entry in entries for number in flat(entry)]
    return [value]


@pytest.mark.parametrize("name", simulations.SIMULATIONS)
def test_the_numbers_are_those_of_the_simulations(name):
    found = simulations.SIMULATIONS[name]()
    assert found.keys() == NUMBERS[name].keys()
    np.testing.assert_allclose(flat(found), flat(NUMBERS[name]), rtol=1e-4, atol=1e-12)


def test_the_note_uses_every_simulation():
    text = (NOTE / "note.typ").read_text()
    assert set(re.findall(r"numbers\.(\w+)", text)) == {"json"} | NUMBERS.keys()


def test_what_the_note_says_of_letarte():
    lemma, theorem = NUMBERS["lemma6"], NUMBERS["theorem4"]
    assert lemma["exact"] == pytest.approx(lemma["corrected"])
    assert all(np.greater(lemma["exact"], lemma["printed"]))
    assert min(lemma["ratio of classes"].values()) > 1.25
    delta = simulations.DELTA
    failures = dict(zip(theorem["mu"], theorem["printed"], strict=True))
    assert failures[2] < delta < failures[4] < failures[10] < theorem["learned printed"]
    assert max(*theorem["corrected"], theorem["learned corrected"]) == 0


def test_what_the_note_says_of_bullins():
    gradient, regret, coins = NUMBERS["gradient"], NUMBERS["regret"], NUMBERS["margin"]
    for mass in ("mass 1", "mass 2"):
        assert gradient["printed"] < gradient[mass] <= gradient[f"corrected {mass}"]
    assert regret["gap"] == pytest.approx(2 * regret["printed"], rel=0.02)  # "twice"
    assert regret["gap"] <= regret["corrected"]
    assert NUMBERS["alternate"]["printed"] < NUMBERS["alternate"]["value"]
    ratio = NUMBERS["ratio"]
    assert ratio["corrected"] <= ratio["ratio"] < ratio["printed"]
    projection = NUMBERS["projection"]
    assert projection["distances"][1] < projection["distances"][0]
    assert coins["failures printed"] == 1
    assert coins["failures corrected"] == 0
    potential = NUMBERS["potential"]
    assert potential["failures corrected"] == 0
    assert potential["failures printed"] > 0.5
    assert potential["high printed"] > 1000 * potential["high corrected"]
    assert NUMBERS["rotation"]["pole"] != NUMBERS["rotation"]["equator"]


def test_what_the_note_says_of_mukuta():
    moments, tail = NUMBERS["eigenfunctions"], NUMBERS["tail"]
    assert moments["moment"] == pytest.approx(moments["formula"])
    assert all(np.less(tail["printed"], tail["lower"]))
    assert all(np.less(tail["lower"], tail["exact"]))
    uniform, mixtures = NUMBERS["uniform"], NUMBERS["mixtures"]
    assert uniform["error"] <= uniform["certificate"] < 1e-3
    assert uniform["distance"] > 1
    weighted = 1 - np.array(mixtures["captured weighted"])
    assert weighted[-1] == pytest.approx(1 - 1 / mixtures["clusters"], abs=1e-3)
    assert all(weighted[1:] > mixtures["printed"][1:])
    assert all(np.less(mixtures["whitened"], 0.1 * np.array(mixtures["weighted"])))


def test_the_functions_that_the_note_names_exist():
    text = (NOTE / "note.typ").read_text()
    section = text[text.index("= How to check") :]
    names = set(re.findall(r"`([a-z]\w+)`", section))
    assert len(names) >= 8
    assert not [name for name in names if not hasattr(guarantees, name)]
    assert hasattr(MercerFeatures, "residual")


def test_the_note_compiles():
    typst = pytest.importorskip("typst", reason="the compiler of the note is not installed")
    assert typst.compile(str(NOTE / "note.typ")).startswith(b"%PDF")
