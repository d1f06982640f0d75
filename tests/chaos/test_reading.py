"""Reading while a query writes: after every single change of the disk, readers of Parquet sinks find sound answers.

Every file is whole. An answer that was there stays until a revision of it is there: a reader may find both for a
moment, never none.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, islice
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from skypane.model.columns import WINDOW
from tests.chaos.memory_disk import MemoryDisk
from tests.chaos.process import Work
from tests.chaos.worlds import World, contents

WORLDS = 12
Answers = dict[tuple[Any, ...], int]
"""The newest revision that a reader finds of a key and window."""


@pytest.fixture(scope="module")
def worlds() -> list[World]:
    """Worlds in which late records correct answers."""
    return [World.of(seed) for seed in islice(filter(has_revisions, count()), WORLDS)]


def has_revisions(seed: int) -> bool:
    """Whether answers are sent whole, and are corrected; a function may fail for the revision, which then is none."""
    configuration = World.configuration_of(seed)
    return configuration.emit == "full" and configuration.query != "apply" and "allowed" in configuration.lateness


def seen_by_readers(world: World) -> Iterator[MemoryDisk]:
    """The disk after each change that concerns a sink."""
    sinks = tuple(f"{world.work.root}/{name}/step-" for name in ("results", "late", "quarantine", "failed"))
    for part in world.parts:
        disk = part.disk.copy(part.disk.rng)
        disk.start_process(None)
        for _, (_, _, arguments) in zip(disk.changes(part.journal), part.journal, strict=True):
            if any(str(path).startswith(sinks) for path in arguments):
                yield disk


def test_files_are_whole_at_any_moment(worlds: list[World]) -> None:
    found = 0
    for world in worlds:
        for disk in seen_by_readers(world):
            contents(disk, world.work)  # fails for a file that cannot be read
            found += 1
    assert found > 3 * WORLDS


def test_an_answer_stays_until_its_revision_is_there(worlds: list[World]) -> None:
    revised = 0
    for world in worlds:
        before: Answers = {}
        for disk in seen_by_readers(world):
            now = newest(disk, world.work)
            gone = {where: number for where, number in before.items() if now.get(where, -1) < number}
            assert not gone, (world.seed, gone)
            revised += sum(number > before.get(where, number) for where, number in now.items())
            before = now
    assert revised > 1, "nothing is revised"


def newest(disk: MemoryDisk, work: Work) -> Answers:
    """What a reader of the results finds."""
    found: Answers = {}
    for name, data in disk.files().items():
        if name.startswith(f"{work.root}/results/step-"):
            for row in pq.ParquetFile(pa.BufferReader(data)).read().to_pylist():
                where = (*(row[key] for key in work.configuration.keys), *row[WINDOW].values())
                found[where] = max(found.get(where, 0), row.get("revision", 0))
    return found
