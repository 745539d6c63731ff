"""How much memory something takes."""

import tracemalloc


def peak_of(work):
    """What `work` returns, and the most bytes that it took at once."""
    tracemalloc.start()
    try:
        result = work()
        return result, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
