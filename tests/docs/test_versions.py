"""The list of versions of the site."""

import importlib.util
import json
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "docs" / "versions.py"


def run(folder):
    spec = importlib.util.spec_from_file_location("versions", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.main(folder, "https://example.org/bochner/")
    return json.loads((folder / "switcher.json").read_text())


def test_dev_comes_first_and_the_newest_release_is_preferred(tmp_path):
    for name in ("dev", "stable", "0.2.0", "0.10.0", "assets"):
        (tmp_path / name).mkdir()
        if name != "assets":
            (tmp_path / name / "index.html").touch()
    entries = run(tmp_path)
    assert [entry["version"] for entry in entries] == ["dev", "0.10.0", "0.2.0"]
    assert [entry["version"] for entry in entries if entry.get("preferred")] == ["0.10.0"]
    assert entries[1]["url"] == "https://example.org/bochner/0.10.0/"
    assert "url=stable/" in (tmp_path / "index.html").read_text()


def test_before_the_first_release_the_site_is_that_of_dev(tmp_path):
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "index.html").touch()
    assert len(run(tmp_path)) == 1
    assert "url=dev/" in (tmp_path / "index.html").read_text()
