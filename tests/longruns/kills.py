"""Real kills: drivers that SIGKILL ends at failpoints and at any moment, until the stream is through.

What the sinks and the ledger have in the end must be what an undisturbed run has over the same batches, and what brute
force says, where it can.
"""

from __future__ import annotations

import random
import shutil
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from skypane.spark.store.failpoints import POINTS
from skypane.testing.oracle import actual_answers, expected_answers
from tests.crash.chains import Cuts, committed_steps, contents, cuts, ended_together
from tests.longruns.hosts import KILLED, Host, wait_for
from tests.longruns.results import Result
from tests.longruns.streams import Stream, stream_of

_WITH_JVM = 0.1
_ZONES = ("UTC", "Asia/Tokyo", "America/New_York")


def run_stream(seed: int, host: Host, folder: Path) -> Result:
    """Kill a stream's drivers often, then let one come to the end; compare."""
    place, before_s = folder / f"stream-{seed}", host.cpu_s()
    run = _Run(stream_of(seed), host, place)
    try:
        run.kill_often()
        run.check()
    except Exception as error:
        what = f"stream {seed}, {run.seen}, {run.stream}"
        raise AssertionError(f"{error!r}\n{what}\nkept: {place}") from error
    shutil.rmtree(place)
    return Result("kills", seed, run.kills, seconds=host.cpu_s() - before_s, seen=dict(run.seen))


class _Run:
    """One stream and its drivers."""

    def __init__(self, stream: Stream, host: Host, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        self.stream = stream
        self.kills = 0
        self.seen: Counter[str] = Counter()
        self._host = host
        self._folder = folder
        self._out = folder / "out"
        self._rng = random.Random(f"kills {stream.seed}")
        self._files: Cuts = tuple(range(stream.files))

    def kill_often(self) -> None:
        """Until there is nothing left to do, or enough."""
        for number in range(self._rng.randint(5, 12)):
            done = committed_steps(self._out)
            if done >= self.stream.files:
                break
            if done < self.stream.calm or self._rng.random() < 0.4:
                self._kill_after(max(self.stream.calm, done + self._rng.randint(0, 2)))
            else:
                # One point after the other: each has its turn with each kind of stream.
                point = POINTS[(self.stream.seed // 10 + number) % len(POINTS)]
                self._kill_at(f"{point}@{self._rng.randint(1, 2)}")
        if self._rng.random() < 0.4 and self.stream.may_be_idle:
            self._kill_when_idle()

    def check(self) -> None:
        """Come to the end; nothing is lost, nothing is there twice."""
        stream = self.stream
        said = self._host.run(self._orders(), self._zone())
        made = cuts(self._out)
        orders = self._orders(source=stream.source(self._folder, made), parallel={"inline_rows": 100_000})
        plain = self._folder / "undisturbed"
        wanted = self._host.run({**orders, "output": str(plain), "measure": True})
        condensed = wanted.pop("condensed")
        assert condensed or not stream.large, "Spark pre-aggregates no batch: they are large for nothing"
        self.seen["pre-aggregated"] += condensed > 0
        assert len(cuts(plain)) == len(made), "an undisturbed run has the same batches"
        assert said == wanted, f"{said}, not {wanted}"
        found, right = (ended_together(contents(place, stream.sinks), len(made)) for place in (self._out, plain))
        assert found == right, _difference(found, right)
        ledger = said["ledger"]
        fates = ledger["accepted"] + ledger["late"] + ledger["held"] + sum(ledger["quarantined"].values())
        assert fates == stream.records, f"the ledger knows {fates} records of {stream.records}"
        if stream.has_oracle:
            self._check_by_force()

    def _check_by_force(self) -> None:
        every = pa.concat_tables(self.stream.batches)
        lost = [n for name in ("late", "quarantine") for table in self._tables(name) for n in table["n"].to_pylist()]
        assert len(lost) == len({*lost}), "a record is in a side sink twice"
        accepted = every.filter(pa.array([n not in {*lost} for n in every["n"].to_pylist()], pa.bool_()))
        definition = self.stream.definition
        assert actual_answers(definition, self._tables("results")) == expected_answers(definition, accepted)
        self.seen["by force"] += 1

    def _tables(self, name: str) -> list[pa.Table]:
        return [pq.ParquetFile(path).read() for path in sorted((self._out / name).glob("step-*.parquet"))]

    def _kill_at(self, failpoint: str, **options: Any) -> None:
        self._start(failpoint=failpoint, **options)
        self._ended(failpoint.partition("@")[0])

    def _kill_after(self, step: int) -> None:
        """Some time after a step was committed."""
        self._start()
        wait_for(lambda: committed_steps(self._out) >= step, self._host)
        time.sleep(self._rng.uniform(0.0, 0.6))
        if self._rng.random() < _WITH_JVM:
            self._take_jvm()
        self._host.kill()
        self._ended("any moment")

    def _kill_when_idle(self) -> None:
        """Come to the end of the source with open windows, then die when the clock closes them, or soon after."""
        if self._host.run(self._orders(flush=False), self._zone())["ledger"]["held"]:
            return  # how long records stay in doubt may decide their fate
        point = f"{self._rng.choice(POINTS)}@1"
        idle: dict[str, Any] = {"available_now": False, "flush": "auto", "idle_timeout": "200 ms"}
        if self.stream.configuration.parallel.get("max_latency") is None:
            idle["trigger"] = "100 milliseconds"
        before = committed_steps(self._out)
        self._start(failpoint=point, **idle)
        end = time.monotonic() + 5.0
        wait_for(lambda: committed_steps(self._out) > before or time.monotonic() > end, self._host)
        time.sleep(self._rng.uniform(0.0, 0.3))
        self._host.kill()
        self._ended("idle")

    def _ended(self, how: str) -> None:
        """The driver has been killed, or had come to its end; anything else is an error."""
        code, no_jvm = self._host.wait(), self._host.has_no_jvm
        assert code in {0, KILLED} or no_jvm, f"a driver ended with {code}:\n{self._host.errors()}"
        if code != 0:
            self.kills += 1
            self.seen[how] += 1
            if not no_jvm and self._rng.random() < _WITH_JVM:
                self._take_jvm()

    def _take_jvm(self) -> None:
        self._host.kill_jvm()
        self.seen["with the JVM"] += 1

    def _start(self, **more: Any) -> None:
        self._host.start(self._orders(parallel=self.stream.other_work(self._rng), **more), self._zone())

    def _zone(self) -> str:
        """Only text in the sinks shows the zone."""
        return self._rng.choice(_ZONES) if {*self.stream.sinks.values()} <= {"parquet", "discard"} else "UTC"

    def _orders(
        self, *, failpoint: str = "", source: str = "", parallel: dict[str, Any] | None = None, **options: Any
    ) -> dict[str, Any]:
        return {
            "configuration": self.stream.configuration.as_json(),
            "sinks": dict(self.stream.sinks),
            "input": source or self.stream.source(self._folder, self._files),
            "output": str(self._out),
            "failpoint": failpoint,
            "parallel": parallel or {},
            "options": {"available_now": True, "flush": True, **options},
        }


def _difference(found: dict[str, Any], right: dict[str, Any]) -> str:
    for sink, steps in right.items():
        for step in sorted({*steps, *found[sink]}):
            own, others = found[sink].get(step, []), steps.get(step, [])
            if own != others:
                lost, more = [row for row in others if row not in own], [row for row in own if row not in others]
                return f"{sink}, step {step}: {len(lost)} lost {lost[:3]}, {len(more)} too many {more[:3]}"
    return "nothing"
