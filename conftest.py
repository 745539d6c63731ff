"""What pytest must know before it collects anything."""

import os
from importlib.util import find_spec

# scikit-learn's array-API check is skipped without this, and SciPy reads it on import.
os.environ["SCIPY_ARRAY_API"] = "1"

# Triton exists only beside a CUDA build of PyTorch; its kernel is checked by benchmarks/device.py.
collect_ignore = [] if find_spec("triton") else ["src/bochner/engine/fused.py"]
