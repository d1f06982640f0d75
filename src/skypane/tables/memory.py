"""Memory: let this process keep what it frees, since it will need as much again in a moment.

The C library gives the memory of large arrays back to the system as soon as they are freed. The system hands the next
ones out page by page, and clears each: a quarter of what a step over many keys took (docs/performance.md).
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Final

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Numbers of ``mallopt``, see ``malloc.h``."""
KEPT_BYTES: Final = 1 << 27
"""So much free memory stays with the process."""
LARGE_BYTES: Final = 1 << 25
"""Larger arrays come from the system each time; the C library takes no more than this."""


@cache
def keep_memory() -> bool:
    """Set once in a process; returns whether its C library supports it."""
    if not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and bool(mallopt(_MMAP_THRESHOLD, LARGE_BYTES) and mallopt(_TRIM_THRESHOLD, KEPT_BYTES))
