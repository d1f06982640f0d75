"""The long tests of pytest, those with the mark ``soak``, a file at a time: cluster soaks among them."""

from __future__ import annotations

import re
import subprocess
import sys
from functools import cache
from pathlib import Path

from tests.longruns.results import Result

ROOT = Path(__file__).parents[2]
_PYTEST = (sys.executable, "-m", "pytest", "-q", "-m", "soak", "-p", "no:cacheprovider")


@cache
def files() -> list[str]:
    """Those that have long tests."""
    found = subprocess.run([*_PYTEST, "--collect-only"], cwd=ROOT, capture_output=True, text=True, check=True)
    return sorted({line.partition("::")[0] for line in found.stdout.splitlines() if "::" in line})


def suites(seed: int) -> Result:
    """The long tests of the file with this number."""
    name = files()[seed]
    run = subprocess.run([*_PYTEST, name], cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, f"{name}\n{run.stdout[-3_000:]}"
    passed = re.search(r"(\d+) passed", run.stdout)
    return Result("suites", seed, int(passed[1]) if passed else 0, seen={name: 1})
