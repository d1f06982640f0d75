"""A session that is stopped under a running query: the query says so, and continues in the next session."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

PROGRAM = """
import sys, threading
from pathlib import Path
import pyarrow as pa
import skypane as sp
from tests.support.records import SCHEMA
from tests.support.spark.streams import WAIT_S, CollectSink, read_batches, write_batches

folder = Path(sys.argv[1])
rows = [{"n": n, "ts": n * 500_000, "city": "ulm", "zone": 1, "a": 1.0, "b": 1} for n in range(8)]
write_batches(folder / "in", [pa.Table.from_pylist(rows[i : i + 2], SCHEMA) for i in range(0, 8, 2)])
entered, go_on = threading.Event(), threading.Event()


class Held(CollectSink):
    def publish(self, step, rows):
        super().publish(step, rows)
        if step == 2:
            entered.set()
            go_on.wait(WAIT_S)


def question(spark):
    return sp.stream(read_batches(spark, folder / "in"), time="ts").window("1 second").aggregate(n="count")


def report(query):
    try:
        print(query.await_termination(WAIT_S))
    except sp.SkypaneError as error:
        print(error)


spark = sp.embedded_session(cores=2, log_file=folder / "spark.log")
sink = Held()
busy = question(spark).start(sink=sink, checkpoint=folder / "c", trigger="0 seconds")
waits = question(spark).start(sink=CollectSink(), trigger="1 hour")
assert entered.wait(WAIT_S)
while not waits.metrics().steps:
    threading.Event().wait(0.05)
spark.stop()
go_on.set()
report(busy)
report(waits)
spark = sp.embedded_session(cores=2, log_file=folder / "spark.log")
again = question(spark).start(sink=sink, checkpoint=folder / "c", available_now=True)
report(again)
print(again.metrics().ledger.accepted, [row["n"] for row in sink.rows()])
spark.stop()
"""


def test_the_query_says_so_and_continues_in_the_next_session(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    busy, waits, again, counted = done.stdout.strip().splitlines()
    stopped = "The Spark session was stopped while the query was running."
    assert busy.startswith(stopped)
    assert "it continues from its checkpoint" in busy
    assert waits.startswith(stopped)
    assert "it has no checkpoint, so it starts over" in waits
    assert again == "True"
    assert counted == "8 [2, 2, 2, 2]"
