"""Small grey pictures as PNG files inside the page."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

import numpy as np


def grey_picture(image: Any) -> str:
    """Return an image of shape (height, width) as ``data:image/png;base64,...``.

    0 is black and 1 is white; values outside are clipped, NaN is black.
    """
    grey = np.asarray(image, dtype=np.float64)
    if grey.ndim != 2 or grey.size == 0:
        raise ValueError(
            f"image must have shape (height, width) to be drawn in grey, got {grey.shape}."
        )
    levels = np.rint(255 * np.clip(np.nan_to_num(grey), 0, 1)).astype(np.uint8)
    height, width = levels.shape
    # Every row begins with the number of its PNG filter; 0 is none.
    rows = np.hstack([np.zeros((height, 1), dtype=np.uint8), levels])
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)  # 8 bits of grey
    parts = [(b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), 9)), (b"IEND", b"")]
    file = b"\x89PNG\r\n\x1a\n" + b"".join(_part(kind, content) for kind, content in parts)
    return "data:image/png;base64," + base64.b64encode(file).decode("ascii")


def _part(kind: bytes, content: bytes) -> bytes:
    check = zlib.crc32(kind + content)
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", check)
