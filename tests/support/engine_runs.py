"""Runs of the engine in process: batches, what was accepted, the last revisions, and whether two steps are the same."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pyarrow as pa

from skypane.flow.definition import Definition
from skypane.lateness.future_guard import FutureGuard
from skypane.lateness.policies.fixed_delay import FixedDelay
from skypane.local.engine import Engine, EngineState, StepOutput
from skypane.tables.rows import together
from skypane.testing.oracle import Answer, as_text, micros, row_texts
from tests.support.strategies import SCHEMA

GUARD = FutureGuard(3_600_000_000)

POLICY = FixedDelay("100 milliseconds")

Rows = list[dict[str, Any]]


def batches(rows: Rows, cuts: list[int]) -> list[Rows]:
    borders = sorted({0, len(rows), *(c for c in cuts if c < len(rows))})
    return [rows[low:high] for low, high in pairwise(borders)]


def run(definition: Definition, rows: Rows, cuts: list[int], degree: int) -> list[StepOutput]:
    engine = Engine(definition, POLICY, GUARD)
    state, outputs = engine.start(), []
    for batch in batches(rows, cuts):
        tasks = [pa.Table.from_pylist([r for r in batch if r["n"] % degree == d], SCHEMA) for d in range(degree)]
        state, output = engine.step(state, tasks, degree)
        outputs.append(output)
    state, output = engine.flush(state, degree)
    return [*outputs, output]


def accepted_of(rows: Rows, outputs: list[StepOutput]) -> pa.Table:
    lost = {r["n"] for o in outputs for t in (*o.late, *o.quarantined, *o.duplicates) for r in t.to_pylist()}
    return pa.Table.from_pylist([r for r in rows if r["n"] not in lost], SCHEMA)


def last_revisions(definition: Definition, outputs: list[StepOutput]) -> Answer:
    """The answers after all corrections; each has the next number, and changes something."""
    latest: Answer = {}
    numbers: dict[tuple[Any, ...], int] = {}
    for output in outputs:
        here: dict[tuple[Any, ...], Rows] = defaultdict(list)
        for row in (r for table in output.answers for r in table.to_pylist()):
            where = (*(row[k] for k in definition.keys), micros(row["window"]["start"]))
            here[where, row.pop("revision")].append(row)
        for (where, number), group in here.items():
            text = as_text(definition, group)
            # A window nobody had a record in gives no first answer; what corrects "nothing" is revision 1.
            assert number == numbers.get(where, -1) + 1 or (number == 1 and where not in numbers)
            assert latest.get(where) != text, "a revision that changes nothing"
            latest[where], numbers[where] = text, number
    return latest


def shown(tables: list[pa.Table]) -> list[str]:
    return row_texts([row for table in tables for row in table.to_pylist()])


KINDS = ("panes", "buffer", "sealed", "revisions", "held", "counters", "ids")


def same(
    one: tuple[EngineState, StepOutput], other: tuple[EngineState, StepOutput], kinds: Sequence[str] = KINDS
) -> None:
    """The same was emitted, and the same is kept."""
    for name in ("answers", "late", "quarantined", "failed", "duplicates"):
        assert shown(getattr(one[1], name)) == shown(getattr(other[1], name)), name
    before, after = one[0], other[0]
    for field in ("progress", "ledger", "judged", "emitted_at", "totals"):
        assert getattr(before, field) == getattr(after, field), field
    for kind in kinds:
        left, right = (together(getattr(state.rows, kind)) for state in (before, after))
        assert _content(left) == _content(right), kind


def _content(table: pa.Table | None) -> list[str]:
    return [] if table is None else sorted(repr(sorted(row.items())) for row in table.to_pylist())
