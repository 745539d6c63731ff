"""A running dask cluster that does the work of passes over files."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any

_CONNECT_SECONDS = 10


class ClusterError(ValueError):
    """Error for a cluster that cannot be reached, or no longer, in one line for the user."""


class Cluster:
    """The client of a scheduler, created by :func:`connected`."""

    def __init__(self, client: Any, address: str) -> None:
        self._client, self._address = client, address

    def compute(self, delayed: Any) -> Any:
        """Return the result of delayed work; errors that its functions raise are passed on."""
        from distributed.comm.core import CommClosedError
        from distributed.scheduler import KilledWorker

        future = self._client.compute(delayed)
        try:
            return future.result()
        except KilledWorker as error:
            raise ClusterError(
                f"workers of the cluster at {self._address} died again and again over the same "
                "piece of work: they may have too little memory."
            ) from error
        except (CancelledError, CommClosedError, OSError) as error:
            raise ClusterError(
                f"the dask scheduler at {self._address} is gone: nothing was written, begin again."
            ) from error


@contextmanager
def connected(address: str) -> Iterator[Cluster]:
    """Connect to the cluster of a scheduler, such as ``tcp://host:8786``.

    Workers must see the same files under the same paths, and have this package installed.
    """
    try:
        from distributed import Client
    except ModuleNotFoundError as error:
        raise ClusterError("a cluster needs dask: pip install 'bochner[dask]'") from error
    try:
        client = Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ClusterError(f"there is no dask scheduler at {address}: {error}") from error
    try:
        yield Cluster(client, address)
    finally:
        client.close(timeout=1)
