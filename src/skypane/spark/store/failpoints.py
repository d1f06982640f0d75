"""Failpoints: named places in the commit protocol where a test can kill the process, for real, with SIGKILL.

``SKYPANE_FAILPOINT=manifest.written@3`` kills the process the third time it gets there. Without the variable,
reaching a failpoint does nothing.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from typing import Final

POINTS: Final = (
    "step.begin",
    "panes.done",
    "windows.done",
    "manifest.written",
    "step.prepared",
    "results.staged",
    "results.published",
    "late.published",
    "failed.published",
    "quarantine.published",
    "duplicates.published",
    "manifest.committed",
    "step.cleaned",
)
"""Every failpoint, in the order a step passes them."""

_reached: Counter[str] = Counter()


def reach(point: str) -> None:
    """Kill the process here if a test has set this failpoint."""
    wanted = os.environ.get("SKYPANE_FAILPOINT")
    if not wanted:
        return
    _reached[point] += 1
    name, _, count = wanted.partition("@")
    if name == point and _reached[point] == int(count or 1):
        os.kill(os.getpid(), signal.SIGKILL)
