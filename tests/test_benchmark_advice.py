"""What `python -m benchmarks advice` measures and keeps, on one small table."""

import pytest

pytest.importorskip("psutil", reason="psutil is not installed")

from benchmarks import advice
from benchmarks.tables import friedman

from bochner.models.methods import METHODS


def test_a_recommendation_is_held_against_other_splits(monkeypatch, tmp_path, capsys):
    cheap = {name: METHODS[name] for name in ("linear", "FourierFeatures")}
    monkeypatch.setattr(advice, "METHODS", cheap)
    monkeypatch.setattr(advice, "TABLES", {"small": lambda seed: friedman(seed, n=300, d=5)})
    monkeypatch.setattr(advice, "FOLDER", tmp_path)
    given = ["--tables", "small", "--rows", "200", "--splits", "2", "--jobs", "1"]
    advice.main(given)
    first = capsys.readouterr().out.splitlines()[-1].split()
    assert first[0] == "small"
    assert "±" in first
    advice.main(given)  # from the file
    assert capsys.readouterr().out.splitlines()[-1].split()[:-1] == first[:-1]
