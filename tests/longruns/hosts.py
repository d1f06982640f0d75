"""Hosts: a JVM that drivers share, and a process they are forked from: real processes to kill, there in no time.

Of a kill it matters what the driver had done, not that the JVM has to start again, which takes most of the time. So
the JVM outlives most kills; now and then it is killed, too.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.support.spark.jvm import SHORT_LIVED
from tests.support.spark.processes import DriverProcess

KILLED = -signal.SIGKILL
_HANGS_S = 3_600.0
"""After so long a driver hangs: processes of a busy machine may stand still for a while."""


class Host:
    """One driver at a time."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._log = folder / "drivers.log"
        self._answer = folder / "answer.json"
        self._source = self._process("driver_source", 0)
        self._jvm: DriverProcess | None = None
        self._jvms = 0
        self._process_id = 0
        self._cpu_before_s = 0.0
        """Of JVMs that are no more."""
        self._start_jvm()

    def start(self, orders: dict[str, Any], zone: str = "UTC") -> None:
        """Fork a driver that carries out orders."""
        if self._jvm is None:
            self._start_jvm()
        self._answer.unlink(missing_ok=True)
        self._log.write_text("")
        paths = {"log": str(self._log), "answer": str(self._answer)}
        self._source.order({**self._address, **paths, "zone": zone, "orders": orders})
        said = self._source.answer()
        assert said is not None
        self._process_id = said["process"]

    def kill(self) -> None:
        """End the driver with SIGKILL."""
        with suppress(ProcessLookupError):
            os.kill(self._process_id, signal.SIGKILL)

    def kill_jvm(self) -> None:
        """End the JVM with SIGKILL, and all Python workers with it."""
        if self._jvm is not None:
            self._cpu_before_s += self._jvm.cpu_s()
            self._jvm.end()
            self._jvm = None

    @property
    def has_no_jvm(self) -> bool:
        """Whether it was killed."""
        return self._jvm is None

    @property
    def has_ended(self) -> bool:
        """Whether the driver has ended."""
        return self._source.has_answered()

    def wait(self) -> int:
        """Until the driver ends; its exit code."""
        wait_for(lambda: False, self)
        said = self._source.answer()
        assert said is not None, self._source.errors()
        return int(said["code"])

    def run(self, orders: dict[str, Any], zone: str = "UTC") -> dict[str, Any]:
        """A driver that has to come to its end; what it says."""
        self.start(orders, zone)
        code = self.wait()
        assert code == 0, f"a driver ended with {code}:\n{self.errors()}"
        said: dict[str, Any] = json.loads(self._answer.read_text())
        return said

    def cpu_s(self) -> float:
        """The processor time of all its processes so far."""
        return self._cpu_before_s + self._source.cpu_s() + (0.0 if self._jvm is None else self._jvm.cpu_s())

    def errors(self) -> str:
        """What the last driver has written."""
        return self._log.read_text()[-3_000:]

    def close(self) -> None:
        """Leave nothing running."""
        self.kill_jvm()
        self._source.end()

    def _start_jvm(self) -> None:
        self._jvms += 1
        self._jvm = jvm = self._process("jvm_holder", self._jvms)
        address = jvm.answer()
        assert address is not None
        self._address = address

    def _process(self, module: str, number: int) -> DriverProcess:
        log = self._folder / f"{module}-{number}.log"
        return DriverProcess(log, SHORT_LIVED, f"tests.longruns.{module}", [str(log)])


def wait_for(condition: Callable[[], bool], host: Host) -> None:
    """Until it is so, or the driver has ended."""
    deadline = time.monotonic() + _HANGS_S
    while not condition() and not host.has_ended:
        assert time.monotonic() < deadline, f"a driver does not go on:\n{host.errors()}"
        time.sleep(0.005)
