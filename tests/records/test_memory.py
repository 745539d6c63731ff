"""Limits of control groups rule where they are smaller than the memory of the machine."""

import pytest

from bochner.records import memory


@pytest.mark.parametrize(
    ("own", "file", "other"),
    [
        ("0::/a/b", "a/b/memory.max", "memory.max"),
        ("0::/a/b", "a/memory.max", "a/b/memory.max"),  # of the group above
        ("4:memory:/a\n0::/", "memory/a/memory.limit_in_bytes", "memory.max"),
        ("0::/not/seen/in/here", "memory.max", "memory.current"),  # a container's own root
    ],
)
def test_the_smallest_limit_rules(tmp_path, monkeypatch, own, file, other):
    (tmp_path / "own").write_text(f"9:cpu,cpuacct:/\n{own}\n")
    monkeypatch.setattr(memory, "_OWN_GROUPS", tmp_path / "own")
    monkeypatch.setattr(memory, "_CGROUPS", tmp_path / "groups")
    without = memory.memory_limit()
    for name, text in ((file, "123456789\n"), (other, "max\n")):
        path = tmp_path / "groups" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert without is None or without > 123456789
    assert memory.memory_limit() == 123456789
