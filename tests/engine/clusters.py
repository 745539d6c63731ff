"""Dask clusters on this machine, for tests."""

import os
import socket
import threading
import time
from contextlib import contextmanager, suppress

import pytest


@contextmanager
def two_workers(n_workers=2, **options):
    """A client of two single-threaded workers, which are started again when they die.

    They are processes, or with ``processes=False``, which takes no time to start, threads.
    """
    distributed = pytest.importorskip("distributed")
    with (
        socket.socket() as taken,
        distributed.LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            dashboard_address=_address_beside(taken),
            **options,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def _address_beside(taken):
    """Any free port: the usual one of dashboards may be somebody else's, and here it is."""
    with suppress(OSError):
        taken.bind(("", 8787))
        taken.listen()
    return ":0"


def slow(block, seconds):
    """A block after a while: the time is for a worker to die in."""
    time.sleep(seconds)
    return block


def kill_soon(client):
    """Kills one of two workers in a moment; the timer is given back."""
    client.wait_for_workers(2)
    victim = next(iter(client.run(os.getpid).values()))
    killer = threading.Timer(0.3, os.kill, (victim, 9))
    killer.start()
    return killer
