"""A driver process that is told what to want, the files that its query reads, and its executors, to be killed."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from skypane.model.columns import DELAY
from tests.support.spark.processes import DriverProcess
from tests.support.spark.streams import Outputs, write_batches

EXECUTOR = b"org.apache.spark.executor.CoarseGrainedExecutorBackend"


class ElasticProcess:
    """One driver at a time; the next goes on where it was."""

    def __init__(self, master: str, folder: Path, batches: Sequence[pa.Table] = (), **settings: str) -> None:
        self.folder = folder
        self.batches = batches
        self.sent = 0
        named = {f"spark.{name}": value for name, value in settings.items()}
        self._arguments = (master, str(folder), json.dumps(named))
        self._process: DriverProcess | None = None
        self._application = ""

    def begin(self) -> None:
        """A new process, with a session and its executors."""
        number = len(list(self.folder.glob("driver-*.err")))
        log = self.folder / f"driver-{number}.log"
        self._process = DriverProcess(log, module="tests.cluster.elastic_driver", arguments=self._arguments)
        self._application = self.tell("hello")["application"]

    def send(self, count: int) -> None:
        """So many more batches."""
        write_batches(self.folder / "in", self.batches[self.sent : self.sent + count], first=self.sent)
        self.sent += count

    def wait(self, executors: int | None = None) -> dict[str, Any]:
        """Until all that was sent is through, on so many warm executors in the end, if it matters."""
        return self.tell("wait", delivered=sum(b.num_rows for b in self.batches[: self.sent]), executors=executors)

    def tell(self, what: str, **more: Any) -> dict[str, Any]:
        """An order, and its answer."""
        assert self._process is not None
        self._process.order({"do": what, **more})
        said = self._process.answer()
        assert said is not None, self._process.errors()
        return said

    def dies(self) -> None:
        """Killed by itself; its JVM and its executors end with it."""
        assert self._process is not None
        assert self._process.answer() is None
        self.end()

    def end(self) -> None:
        """With everything it started."""
        if self._process is not None:
            self._process.end()

    def kill_an_executor(self) -> None:
        """One that is there, or one that is just coming."""
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # It may end in the meantime.
                command = (process / "cmdline").read_bytes().split(b"\0")
                if self._application.encode() in command and EXECUTOR in command:
                    os.kill(int(process.name), signal.SIGKILL)
                    return
        raise AssertionError("there is no executor to kill")


def stored_outputs(folder: Path) -> Outputs:
    """What the Parquet sinks of a process have, by step."""
    outputs = Outputs()
    for name, sink in (("results", outputs.results), ("late", outputs.late), ("quarantine", outputs.quarantine)):
        for path in sorted((folder / name).glob("step-*.parquet")):
            step = int(path.name.split("-")[1])
            table = _with_delays(pq.read_table(path))
            sink.steps[step] = pa.concat_tables([sink.steps[step], table]) if step in sink.steps else table
    return outputs


def _with_delays(table: pa.Table) -> pa.Table:
    """Spark stores an interval as a number of microseconds."""
    if DELAY not in table.column_names:
        return table
    delays = table[DELAY].cast(pa.duration("us"))
    return table.set_column(table.column_names.index(DELAY), DELAY, delays)
