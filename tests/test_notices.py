"""What is waited for is said once, late, on stderr, and only where nobody has set up logging."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import logging, os, sys, threading
import skypane.notices as notices
notices.PATIENCE_S = float(sys.argv[1])
log = logging.getLogger("skypane")
{setting}
said = threading.Event()
say = notices._say
notices._say = lambda *given: (say(*given), said.set())
for turn in range(2):
    with notices.waiting_for("a test"):
        before = os.dup(2)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # as while Spark starts
        if notices.PATIENCE_S < 1 and not turn:
            said.wait({wait})
        os.dup2(before, 2)
print(threading.active_count())
"""
LINE = "skypane: waiting for a test ...\n"


@pytest.mark.parametrize(
    ("setting", "patience", "wait", "stderr"),
    [
        ("", "0", 100, LINE),
        ("", "1000", 0, ""),
        ("log.setLevel(logging.ERROR)", "0", 0.2, ""),
        ("log.disabled = True", "0", 0.2, ""),
        ("logging.basicConfig()", "0", 0.2, ""),
        ("log.addHandler(logging.NullHandler())", "0", 0.2, ""),
        ("logging.basicConfig(level=logging.INFO)", "0", 0.2, "INFO:skypane:Waiting for a test.\n" * 2),
    ],
)
def test_who_is_told(setting: str, patience: str, wait: float, stderr: str) -> None:
    program = PROGRAM.format(setting=setting, wait=wait)
    done = subprocess.run([sys.executable, "-c", program, patience], capture_output=True, text=True, check=True)
    assert done.stderr == stderr
    assert done.stdout == "1\n", "no thread is left behind"
