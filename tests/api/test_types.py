"""A type checker accepts the right names in a program that uses skypane, and refuses wrong ones."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

GOOD = """
import skypane as sp


class Newest(sp.extend.Sink):
    def publish(self, step: int, rows: sp.extend.StepRows) -> None: ...
    def describe(self) -> str:
        return "nowhere"


def started(stream: sp.Stream) -> sp.RunningQuery:
    query: sp.ContinuousQuery = stream.window("1 second").skyline(minimize=["price"])
    query = query.lateness("10 seconds").lateness(sp.KSlack(), guard=sp.TimeGuard(support=3)).emit("changes")
    return query.parallel(degree=2, tuning=sp.Tuning(inline_rows=0)).start(sink=Newest())


def lag(query: sp.RunningQuery) -> sp.Metrics:
    return query.metrics()
"""
BAD = """
import skypane as sp

sp.misspelt
sp.Query
sp.extend.Sinc


def wrong(query: sp.ContinuousQuery) -> None:
    query.parallel(splitting="adaptive")
    query.lateness(guard=sp.TimeGuard(suport=3))
    query.start(sink=sp.DiscardSink(), emit="changes")
    query.emit()
    query.writeStream
    query.source.withWatermark("ts", "10 seconds")
"""


def complaints(folder: Path, program: str) -> list[str]:
    """What mypy says about a program, as its author would run it; the cache is of the project's own run."""
    path = folder / "program.py"
    path.write_text(program)
    settings = Path(__file__).parents[2] / "pyproject.toml"
    command = [sys.executable, "-m", "mypy", "--config-file", str(settings), str(path)]
    done = subprocess.run(command, cwd=settings.parent, capture_output=True, text=True, check=False, timeout=500)
    return [line.partition("program.py:")[2] for line in done.stdout.splitlines() if ": error:" in line]


def test_a_right_program_passes(tmp_path: Path) -> None:
    assert complaints(tmp_path, GOOD) == []


def test_every_wrong_name_and_option_is_refused(tmp_path: Path) -> None:
    found = complaints(tmp_path, BAD)
    wanted = [
        r"4: .*has no attribute \"misspelt\"",
        r"5: .*has no attribute \"Query\"",
        r"6: .*has no attribute \"Sinc\"",
        r"10: .*\"splitting\" for \"parallel\"",
        r"11: .*\"suport\" for \"TimeGuard\"",
        r"12: .*\"emit\" for \"start\"",
        r"13: .*Missing positional argument \"what\"",
        r"14: .*\"ContinuousQuery\" has no attribute \"writeStream\"",
        r"15: .*\"Stream\" has no attribute \"withWatermark\"",
    ]
    assert len(found) == len(wanted), found
    for complaint, pattern in zip(found, wanted, strict=True):
        assert re.match(pattern, complaint), complaint
