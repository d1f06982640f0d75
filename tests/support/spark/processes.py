"""Driver processes that are started ahead, given orders, and killed with everything they started."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.support.spark.jvm import SHORT_LIVED

ROOT = Path(__file__).parents[3]
WAIT_S = 300


class DriverProcess:
    """One process in a session of its own, so that its JVM and Python workers can be found and ended."""

    def __init__(
        self, log: Path, jvm: str = SHORT_LIVED, module: str = "tests.crash.driver", arguments: Sequence[str] = ()
    ) -> None:
        self._log = log
        environment = {**os.environ, "SPARK_SUBMIT_OPTS": jvm}
        environment.pop("SKYPANE_FAILPOINT", None)
        with log.with_suffix(".err").open("wb") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", module, *(arguments or [str(log)])],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=environment,
                start_new_session=True,
                cwd=ROOT,
                bufsize=0,
            )

    def order(self, orders: dict[str, Any]) -> None:
        """Tell it what to do; it may still be starting."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(orders).encode() + b"\n")

    def answer(self) -> dict[str, Any] | None:
        """What it says when a query has ended; ``None`` if it was killed before that."""
        assert self._process.stdout is not None
        deadline = time.monotonic() + WAIT_S
        # Its JVM has the same standard output, and may outlive it for a moment.
        while not self.has_answered():
            assert time.monotonic() < deadline, f"no answer:\n{self.errors()}"
            time.sleep(0.01)
        line = self._process.stdout.readline() if self._can_be_read() else b""
        if line:
            said: dict[str, Any] = json.loads(line)
            return said
        code = self._process.wait(WAIT_S)
        assert code == -signal.SIGKILL, f"exit code {code}:\n{self.errors()}"
        return None

    def has_answered(self) -> bool:
        """Whether there is an answer, or never will be one."""
        return self._process.poll() is not None or self._can_be_read()

    def _can_be_read(self) -> bool:
        assert self._process.stdout is not None
        return bool(select.select([self._process.stdout], [], [], 0)[0])

    def dismiss(self) -> None:
        """Have it end by itself, and wait for that and for its JVM, which outlives it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert self._process.wait(WAIT_S) == 0, self.errors()
        deadline = time.monotonic() + WAIT_S
        while any(self._session()):
            assert time.monotonic() < deadline, f"its JVM does not end:\n{self.errors()}"
            time.sleep(0.01)

    def end(self) -> None:
        """SIGKILL to every process of its session, Python workers in groups of their own included."""
        for process in self._session():
            with suppress(OSError):  # It may end in the meantime.
                os.kill(process, signal.SIGKILL)
        self._process.wait(WAIT_S)

    def cpu_s(self) -> float:
        """The processor time that it and what it started have taken so far."""
        ticks = 0
        for process in self._session():
            with suppress(OSError):
                fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
                ticks += sum(map(int, fields[11:15]))  # its own, and that of its children that have ended
        return ticks / os.sysconf("SC_CLK_TCK")

    def _session(self) -> Iterator[int]:
        """The processes that it and those it started are."""
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                state, _, _, session = (process / "stat").read_text().rpartition(")")[2].split()[:4]
                if int(session) == self._process.pid and state != "Z":
                    yield int(process.name)

    def errors(self) -> str:
        """What it said on standard error, for a failing test."""
        return self._log.with_suffix(".err").read_text()[-5_000:]


class Launcher:
    """Keeps some processes starting ahead of time: a JVM takes longer to start than a test's work takes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._started = 0
        self._waiting: deque[DriverProcess] = deque()
        self._all: list[DriverProcess] = []

    def take(self, ahead: int = 1) -> DriverProcess:
        """The next process; so many others begin to start."""
        while len(self._waiting) <= ahead:
            self._waiting.append(self.spawn())
        return self._waiting.popleft()

    def close(self) -> None:
        """Leave nothing running."""
        for process in self._all:
            process.end()

    def spawn(self, jvm: str = SHORT_LIVED) -> DriverProcess:
        """One that begins to start now."""
        self._started += 1
        process = DriverProcess(self._folder / f"driver-{self._started}.log", jvm)
        self._all.append(process)
        return process
