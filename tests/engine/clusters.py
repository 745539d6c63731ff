"""A dask cluster of two processes on this machine, for tests."""

import socket
from contextlib import contextmanager, suppress

import pytest


@contextmanager
def two_workers(**options):
    """A client of two single-threaded workers, which are started again when they die."""
    distributed = pytest.importorskip("distributed")
    with (
        socket.socket() as taken,
        distributed.LocalCluster(
            n_workers=2,
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
