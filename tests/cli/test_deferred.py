"""Modules whose code is run when it is needed, and then once."""

import importlib
import sys

import pytest

from bochner.cli.deferred import defer

CODE = """
import sys
sys.runs = getattr(sys, "runs", 0) + 1
constant = 3
def double(x):
    return 2 * x
class numbers:
    one = 1
def __getattr__(name):
    if name == "late":
        return "made"
    raise AttributeError(name)
"""


@pytest.fixture
def heavy(tmp_path, monkeypatch):
    (tmp_path / "bochner_heavy").mkdir()
    (tmp_path / "bochner_heavy" / "__init__.py").write_text(CODE)
    (tmp_path / "bochner_heavy" / "part.py").write_text("value = 7")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    monkeypatch.setattr(sys, "runs", 0, raising=False)
    defer({"bochner_heavy": ("double", "numbers")})
    yield importlib.import_module("bochner_heavy")
    for name in ("bochner_heavy", "bochner_heavy.part"):
        sys.modules.pop(name, None)


def test_importing_runs_nothing(heavy):
    from bochner_heavy import double, numbers  # noqa: F401

    assert sys.runs == 0


def test_any_name_runs_the_code_once(heavy):
    assert (heavy.constant, heavy.late, heavy.double(2), sys.runs) == (3, "made", 4, 1)
    assert importlib.import_module("bochner_heavy") is heavy
    with pytest.raises(AttributeError):
        _ = heavy.nothing


def test_what_was_imported_by_name_is_looked_up_when_used(heavy):
    from bochner_heavy import double, numbers

    assert (double(4), numbers.one, sys.runs) == (8, 1, 1)


def test_modules_within_can_be_imported_first(heavy):
    from bochner_heavy.part import value

    assert (value, heavy.part.value, heavy.constant) == (7, 7, 3)
