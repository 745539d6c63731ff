"""What pytest must know before it collects anything."""

import gc
import os
from importlib.util import find_spec

# scikit-learn's array-API check is skipped without this, and SciPy reads it on import.
os.environ["SCIPY_ARRAY_API"] = "1"

# Triton exists only beside a CUDA build of PyTorch; its kernels are checked by tests/engine/tiles
# there, and by benchmarks/device.py.
_TRITON = ["src/bochner/engine/fused.py", "src/bochner/engine/tiles/[a-z]*.py"]
collect_ignore_glob = [] if find_spec("triton") else _TRITON


def pytest_collection_finish() -> None:
    gc.freeze()  # what was collected is no garbage, and need not be looked at again and again
