"""The medians of three columns: a NumPy function over whole windows, of which no part can be computed ahead."""

from __future__ import annotations

from typing import Any

import numpy as np

COLUMNS = ("a0", "a1", "a2")
SCHEMA = ", ".join(f"{name} double" for name in COLUMNS)


def medians(records: dict[str, np.ndarray[Any, Any]]) -> dict[str, float]:
    """One row for each window."""
    return {name: float(np.median(records[name])) for name in COLUMNS}
