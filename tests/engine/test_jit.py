"""Compiled loops where the cache on disk does not work."""

import os
import subprocess
import sys

import pytest

from bochner.engine import jit

# the module alone: eight new processes need not import the package
LOOP = f"""
from importlib.util import module_from_spec, spec_from_file_location

spec = spec_from_file_location("jit", {jit.__file__!r})
jit = module_from_spec(spec)
spec.loader.exec_module(jit)

@jit.compiled()
def double(x):
    return 2 * x
"""


def run(folder, before="", after="print(double(21))"):
    """Compile a tiny loop in a new process whose cache is `folder`."""
    (folder / "loop.py").write_text(LOOP)
    code = f"{before}\nfrom loop import double\n{after}"
    return subprocess.run(
        [sys.executable, "-W", "always", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
        env={**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache")},
    )


def cached(folder, ending):
    return list((folder / "cache").rglob(f"*{ending}"))


def test_the_cache_is_used_and_damaged_files_heal(tmp_path):
    def assert_used():
        hits = run(tmp_path, after="print(double(21), sum(double.stats.cache_hits.values()))")
        assert hits.stdout == "42 1\n"
        assert not hits.stderr

    assert run(tmp_path).stdout == "42\n"
    for ending in (".nbi", ".nbc"):
        assert_used()
        damaged = cached(tmp_path, ending)
        assert damaged
        for path in damaged:
            path.write_bytes(b"nonsense")
        assert run(tmp_path).stdout == "42\n"
    assert_used()


NO_FOLDER = "import numba.core.caching as c; c.CacheImpl._locator_classes = []"
FULL_DISK = """
import numba.core.caching as c
def full(*_):
    raise OSError(28, "No space left on device")
c.IndexDataCacheFile.save = full
"""


@pytest.mark.parametrize("trouble", [NO_FOLDER, FULL_DISK])
def test_without_a_cache_there_is_one_warning(trouble, tmp_path):
    said = run(tmp_path, trouble, "print(double(21), double(1.5))")
    assert said.stdout == "42 3.0\n"
    assert said.stderr.count("compiled code cannot be kept on disk") == 1
