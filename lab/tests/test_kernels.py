"""The lab's kernel is cached with skypane's own, and compiled ahead of time for the types that the simulator has."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_WARM = """
import numpy as np
from skypane_lab.kernels.live_queues import queue_records, warm_live_queues
from skypane_lab.live.queueing import evenly, run_queues
from skypane_lab.live.setup import LiveMachine, LiveSetup

assert not queue_records.signatures, "compiled at import"
warm_live_queues()
warmed = list(queue_records.signatures)
run_queues(evenly(3, 1e6), np.array([3, 3, 3]), 10, LiveSetup(LiveMachine(1), degree=2))
assert queue_records.signatures == warmed, "compiled for other types"
print(queue_records.stats.cache_path)
"""


def test_it_is_cached_in_the_private_folder(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    environment["XDG_CACHE_HOME"] = str(tmp_path)
    command = [sys.executable, "-c", _WARM]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    folder = Path(done.stdout.strip())
    assert tmp_path / "skypane" / "numba" in folder.parents
    assert list(folder.glob("live_queues.queue_records*.nbc"))
