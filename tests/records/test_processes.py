import multiprocessing
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

import bochner.records.processes as processes_module
from bochner.engine.threads import default_threads
from bochner.records.cells import Cell
from bochner.records.processes import ProcessEnded, Processes, prepare_processes

SCRIPT = """
from tests.records.test_processes import ONE, Processes, announce
if __name__ == "__main__":
    with Processes(announce, 1) as processes:
        processes.begin(ONE)
        list(processes.ended(timeout=600))
"""
ONE, OTHER = (Cell("study", "task", "method", None, seed) for seed in range(2))


def surroundings(cell):
    return os.getpid(), default_threads(), os.environ.get("BOCHNER_TEST"), os.getcwd()


def end_or_answer(cell):
    if cell == ONE:
        os.kill(os.getpid(), signal.SIGKILL)
    return cell.seed


def sleep_long(cell):
    time.sleep(600)


def announce(cell):
    print(os.getpid(), flush=True)
    time.sleep(600)


def is_there(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def all_that_ended(processes):
    while processes.running:
        yield from processes.ended()


@pytest.fixture(params=["fork server", "spawn"], autouse=True)
def platform(request, monkeypatch):
    """As on Linux, and elsewhere."""
    if request.param == "spawn":
        monkeypatch.setattr(processes_module, "_HAS_SERVER", False)
    elif not processes_module._HAS_SERVER:
        pytest.skip("this platform has no fork server")


def test_processes_have_one_thread_and_the_environment_of_now(monkeypatch, tmp_path):
    prepare_processes(["bochner.engine.threads"])
    monkeypatch.setenv("BOCHNER_TEST", "now")  # later than the server that they are forked from
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    with Processes(surroundings, 2) as processes:
        processes.begin(ONE)
        assert processes.n_idle == 1
        processes.begin(OTHER)
        assert processes.n_idle == 0
        found = dict(all_that_ended(processes))
    assert found.keys() == {ONE, OTHER}
    for pid, *seen in found.values():
        assert pid != os.getpid()
        assert seen == [1, "now", str(tmp_path)]
    assert "OMP_NUM_THREADS" not in os.environ


def test_a_process_that_ends_is_replaced():
    with Processes(end_or_answer, 1) as processes:
        processes.begin(ONE)
        ((cell, came),) = all_that_ended(processes)
        assert cell == ONE
        assert isinstance(came, ProcessEnded)
        processes.begin(OTHER)
        assert list(all_that_ended(processes)) == [(OTHER, 1)]


def test_nobody_waits_for_what_was_left_running():
    before = set(multiprocessing.active_children())
    begun = time.monotonic()
    with suppress(KeyboardInterrupt), Processes(sleep_long, 2) as processes:
        processes.begin(ONE)
        raise KeyboardInterrupt
    assert time.monotonic() - begun < 60
    assert set(multiprocessing.active_children()) <= before


def test_processes_end_with_the_one_that_started_them(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    root = Path(__file__).parents[2]
    with subprocess.Popen(
        [sys.executable, script],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(root)},
    ) as parent:
        child = int(parent.stdout.readline())
        assert is_there(child)
        parent.kill()
    deadline = time.monotonic() + 60
    while is_there(child):
        assert time.monotonic() < deadline
        time.sleep(0.05)
