"""What `python -m benchmarks noise` measures and keeps, on one small table of each kind."""

import pytest

pytest.importorskip("psutil", reason="psutil is not installed")

from benchmarks import noise

from bochner.models.methods import METHODS


def test_lanes_share_a_file(monkeypatch, tmp_path, capsys):
    cheap = {name: METHODS[name] for name in ("linear", "FourierFeatures", "RBFSampler")}
    monkeypatch.setattr(noise, "METHODS", cheap)
    given = ["--tables", "2", "--rows", "60", "--widths", "8", "--splits", "1"]
    given += ["--version", "this", "--file", str(tmp_path / "noise.jsonl")]
    for lane in ("0/2", "1/2"):
        noise.main([*given, "--lane", lane])
    assert capsys.readouterr().out.count("table ") == 2
    monkeypatch.setattr(noise, "measure", None)  # which would be an error
    noise.main(given)
    found = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in found] == ["classification:", "regression:"]
    assert all(line.endswith("of 1") for line in found)
