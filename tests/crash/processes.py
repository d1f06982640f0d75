"""Driver processes that are started ahead, given orders, and killed with everything they started."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.spark_support.jvm import SHORT_LIVED

DRIVER = Path(__file__).parent / "driver.py"
WAIT_S = 300
_JVM = f"{SHORT_LIVED} -Xlog:disable"


class DriverProcess:
    """One process in a session of its own, so that its JVM and Python workers can be found and ended."""

    def __init__(self, log: Path, jvm_options: str) -> None:
        self._log = log
        environment = {**os.environ, "SPARK_SUBMIT_OPTS": f"{_JVM} {jvm_options}"}
        environment.pop("SKYPANE_FAILPOINT", None)
        with log.with_suffix(".err").open("wb") as errors:
            self._process = subprocess.Popen(
                [sys.executable, str(DRIVER), str(log)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=environment,
                start_new_session=True,
                text=True,
            )

    def order(self, orders: dict[str, Any]) -> None:
        """Tell it what to do; it may still be starting."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(orders) + "\n")
        self._process.stdin.flush()

    def killed(self) -> bool:
        """Wait until it ends by itself: True if SIGKILL ended it, False if it had nothing more to do."""
        code = self._process.wait(WAIT_S)
        assert code in {0, -signal.SIGKILL}, f"exit code {code}:\n{self.errors()}"
        return code != 0

    def finish(self) -> dict[str, Any]:
        """Wait until it is done and return what it says."""
        out, _ = self._process.communicate(timeout=WAIT_S)
        assert self._process.returncode == 0, self.errors()
        said: dict[str, Any] = json.loads(out)
        return said

    def alive(self) -> bool:
        return self._process.poll() is None

    def end(self) -> None:
        """SIGKILL to every process of its session, Python workers in groups of their own included."""
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # It may end in the meantime.
                session = int((process / "stat").read_text().rpartition(")")[2].split()[3])
                if session == self._process.pid:
                    os.kill(int(process.name), signal.SIGKILL)
        self._process.wait(WAIT_S)

    def errors(self) -> str:
        """What it said on standard error, for a failing test."""
        return self._log.with_suffix(".err").read_text()[-5_000:]


class Launcher:
    """Keeps some processes starting ahead of time: a JVM takes longer to start than a test's work takes."""

    def __init__(self, folder: Path, ahead: int = 1) -> None:
        self._folder = folder
        self._ahead = ahead
        self._archive = folder / "classes.jsa"
        self._started = 0
        self._waiting: deque[DriverProcess] = deque()
        self._all: list[DriverProcess] = []

    def first(self) -> DriverProcess:
        """A process that leaves an archive of loaded classes behind: the others start twice as fast."""
        return self._spawn(f"-XX:ArchiveClassesAtExit={self._archive}")

    def take(self) -> DriverProcess:
        """The next process; another one begins to start."""
        while len(self._waiting) <= self._ahead:
            self._waiting.append(self._spawn(f"-XX:SharedArchiveFile={self._archive}"))
        return self._waiting.popleft()

    def close(self) -> None:
        """Leave nothing running."""
        for process in self._all:
            process.end()

    def _spawn(self, jvm_options: str) -> DriverProcess:
        self._started += 1
        process = DriverProcess(self._folder / f"driver-{self._started}.log", jvm_options)
        self._all.append(process)
        return process
