"""What all programs share: their arguments, their report, and the skyline that a good NumPy programmer writes."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

ATTRIBUTES = 6
NAMES = [f"a{i}" for i in range(ATTRIBUTES)]
TUMBLE_US, WINDOW_US, SLIDE_US = 10_000_000, 1_000_000, 200_000
"""Of the Yahoo benchmark; of the skyline."""
SECONDS = "seconds: "
"""What a report starts with."""


def numpy_skyline(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Best sums first; each point that is left is in the skyline and strikes out all that it dominates."""
    order = np.argsort(values.sum(axis=1), kind="stable")
    left, found = values[order], []
    while len(order):
        found.append(order[0])
        stays = (left < left[0]).any(axis=1) | (left == left[0]).all(axis=1)
        stays[0] = False
        left, order = left[stays], order[stays]
    return np.sort(np.array(found, dtype=np.int64))


def best_numbers(number: Any, columns: list[Any]) -> str:
    """The numbers of the skyline's records, as one text."""
    best = numpy_skyline(np.column_stack([np.asarray(column, dtype=np.float64) for column in columns]))
    return " ".join(map(str, np.sort(np.asarray(number)[best]).tolist()))


def main(jobs: Mapping[str, Callable[[Path, Path], float | None]]) -> None:
    """Run the job that is asked for, say how long it took, unless it knows better itself."""
    job, data, out = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    out.mkdir(parents=True)
    began = time.perf_counter()
    known_s = jobs[job](data, out)
    print(SECONDS + json.dumps(time.perf_counter() - began if known_s is None else known_s), flush=True)
