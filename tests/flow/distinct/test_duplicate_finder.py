"""The finder sees duplicates whatever tables the records come in, and tells ids apart that have one hash."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

from skypane.flow.distinct.distinct import Distinct
from skypane.flow.distinct.duplicate_finder import DuplicateFinder
from skypane.flow.distinct.id_rows import known_ids
from skypane.flow.distinct.known_ids import KnownIds
from skypane.model.columns import DISTINCT, ID

IDS = Distinct(("id",), 10)


def records(rng: random.Random, count: int, hashes: int) -> tuple[pa.Table, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """Few hashes, several ids with each, in the order in which engines have them."""
    ids = [rng.choice(["a", "b", "c", "d", "e", None]) for _ in range(count)]
    times = np.array([rng.randrange(60) for _ in range(count)], dtype=np.int64)
    hashed = [None if own is None else ord(own) % hashes for own in ids]
    table = pa.table({"id": ids, "t": times, DISTINCT: pa.array(hashed, pa.int64()), ID: np.arange(count)})
    table = table.sort_by([(DISTINCT, "ascending"), ("t", "ascending"), (ID, "ascending")])
    return table, table.column("t").to_numpy()


def by_brute_force(rows: pa.Table, late_before: int, known: list[tuple[str, int]]) -> list[int]:
    """The numbers of the duplicates."""
    accepted, found = list(known), []
    for row in sorted(rows.to_pylist(), key=lambda row: (row["t"], row[ID])):
        late = row["t"] < late_before
        near = [1 for own, time in (known if late else accepted) if own == row["id"] and abs(time - row["t"]) <= 10]
        if near:
            found.append(row[ID])
        elif not late and row["id"] is not None:
            accepted.append((row["id"], row["t"]))
    return sorted(found)


@pytest.mark.parametrize("seed", range(60))
def test_the_finder_does_what_brute_force_does(seed: int) -> None:
    rng = random.Random(seed)
    hashes, late_before = rng.choice([1, 2, 5]), rng.choice([0, 0, 20])
    known_rows, known_times = records(rng, rng.choice([0, 3, 8]), hashes)
    forgotten_before = rng.choice([0, 30])
    known = KnownIds.of([known_ids(IDS, known_rows, known_times)], forgotten_before)
    pairs = [(r["id"], r["t"]) for r in known_rows.to_pylist() if r["id"] is not None and r["t"] >= forgotten_before]
    rows, times = records(rng, rng.choice([1, 10, 40]), hashes)
    finder, found, start = DuplicateFinder(IDS, known), [], 0
    while start < rows.num_rows:
        size = rng.randint(1, 12)
        piece, own = rows.slice(start, size), times[start : start + size]
        mask = finder.find(piece, own, own < late_before)
        found += piece.filter(pa.array(mask)).column(ID).to_pylist()
        start += size
    assert sorted(found) == by_brute_force(rows, late_before, pairs)
