"""Schedules: faults by a seed; what the sinks have in the end must not depend on them.

The schedules of a world are a tree. Each goes the way of an earlier one up to some operation, where the process is
killed or the disk fails; from there on a new process continues. So what came before a fault is not run again: what it
did to the disk is known, and a copy of the disk goes the same way.
"""

from __future__ import annotations

import random
from collections import deque
from typing import NamedTuple

from skypane.model.errors import SkypaneError
from skypane.spark.store import logs
from skypane.spark.store.manifest import Manifest
from tests.chaos.memory_disk import Ended, Fault, FaultKind, MemoryDisk
from tests.chaos.process import Driver, on_disk
from tests.chaos.worlds import Mark, Outcome, Part, Recorder, World, contents

_KINDS: tuple[FaultKind, ...] = ("kill", "kill", "power", "power", "power", "power", "unreadable", "full")
_MOST_FAULTS = 4
_BRANCHES = 24
_OPENING = 60
"""About as many operations as a process has before its first step."""


class Branch(NamedTuple):
    """A part of a run after some faults."""

    part: Part
    faults: tuple[str, ...]


class Schedules:
    """The schedules of one world, one after the other."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._trunk = [Branch(part, ()) for part in world.parts if part.journal]
        self._branches: deque[Branch] = deque(maxlen=_BRANCHES)

    def run(self, number: int) -> tuple[str, ...]:
        """Run the next schedule; its faults. To repeat one, run those before it, too."""
        rng = random.Random(f"schedule {self._world.seed} {number}")
        later = self._branches and rng.random() < 0.5
        branch = rng.choice(self._branches if later else self._trunk)
        disk = branch.part.disk.copy(rng)
        disk.log = list(branch.faults)
        Driver.rng = rng
        try:
            with on_disk(disk):
                self._draw(rng)
                self._fail(disk, branch.part, rng)
                self._draw(rng)
                parts = self._continue(disk, to_the_end=rng.random() < 0.15)
        except Exception as error:
            what = f"world {self._world.seed}, schedule {number}, {self._world.work.configuration}"
            raise AssertionError("\n".join([what, *disk.log, f"-> {error!r}"])) from error
        faults = tuple(disk.log)
        if len(faults) < _MOST_FAULTS:
            self._branches.extend(Branch(part, faults) for part in parts)
        return faults[len(branch.faults) :]

    def _draw(self, rng: random.Random) -> None:
        """How the next process does its work."""
        logs._MERGE_AT = rng.choice([2, 16])
        Driver.random_plans = rng.random() < 0.4

    def _fail(self, disk: MemoryDisk, part: Part, rng: random.Random) -> None:
        kind = rng.choice(_KINDS)
        if kind in {"kill", "power"}:
            at, *_ = rng.choice(part.journal)
            try:
                disk.replay(part.journal, Fault(kind, at))
            except Ended:
                return
            raise AssertionError(f"no operation {at}")
        length = part.journal[-1][0] - part.journal[0][0]
        disk.start_process(Fault(kind, rng.randint(1, length + _OPENING), rng.choice([1, 1, 2, 5])))
        done: list[int] = []

        def beyond(manifest: Manifest) -> bool:
            done.append(manifest.step)
            return len(done) > 2

        try:
            self._world.work.run(disk, beyond)
        except (OSError, SkypaneError) as error:
            if "injected by the test" not in str(error):
                raise  # the disk failed, and the message says so; nothing else may

    def _continue(self, disk: MemoryDisk, *, to_the_end: bool) -> list[Part]:
        """Run a process until it is where an undisturbed one was, or to the end; what it did."""
        world = self._world
        disk.start_process(None)
        recorder = Recorder(disk)

        def is_enough(manifest: Manifest) -> bool:
            recorder.cut()
            mark = world.marks.get(manifest.step)
            # Not before it has taken a step: the next one replaces what the one that failed may have left.
            if to_the_end or len(recorder.parts) < 2 or mark is None:
                return False
            if Mark.of(manifest, disk, world.work) != mark:
                return False
            joined.append(manifest.step)
            return True

        joined: list[int] = []
        ledger = world.work.run(disk, is_enough)
        if not joined:
            recorder.cut()
            outcome = Outcome(ledger, contents(disk, world.work))
            assert outcome == world.undisturbed, difference(outcome, world.undisturbed)
        return [part for part in recorder.parts if part.journal]


def difference(got: Outcome, wanted: Outcome) -> str:
    """Where they differ first."""
    if got.ledger != wanted.ledger:
        return f"ledger {got.ledger}, not {wanted.ledger}"
    for sink in sorted({*got.contents, *wanted.contents}):
        own, others = got.contents.get(sink, {}), wanted.contents.get(sink, {})
        for step in sorted({*own, *others}):
            if own.get(step) != others.get(step):
                return f"{sink}, step {step}: {own.get(step)}, not {others.get(step)}"
    return "nothing"
