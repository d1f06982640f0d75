"""The brute-force oracle of a continuous query: every window over the accepted records, the slow obvious way."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np
import pyarrow as pa

from skypane.flow.definition import Definition
from skypane.local.preparation import prepared
from skypane.model.columns import ID, PREFIX, WINDOW
from skypane.model.groups import BoolArray
from skypane.model.panes import Panes
from skypane.model.window import Window
from skypane.queries.base import Query

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
Answer = dict[tuple[Any, ...], list[str]]
"""(keys..., window start us) -> the answer's rows as sorted text; with windows of records: start, end, first, last,
partial."""
Members = dict[tuple[Any, ...], list[dict[str, Any]]]


def micros(when: datetime) -> int:
    """Microseconds since the epoch."""
    return (when.replace(tzinfo=when.tzinfo or timezone.utc) - EPOCH) // timedelta(microseconds=1)


def usable(query: Query, prepared: pa.Table) -> pa.Array:
    """Which records, with their internal columns, the query itself does not call invalid."""
    bad: BoolArray = np.zeros(prepared.num_rows, dtype=np.bool_)
    for mask, _ in query.invalid(prepared):
        bad |= mask
    return pa.array(~bad)


def size_and_slide_us(window: Panes) -> tuple[int, int]:
    """How long windows are, and how far apart: the oracle knows windows that lie evenly in time."""
    (start, following), (end, _) = (of(np.arange(2)) for of in (window.window_start_us, window.window_end_us))
    return int(end - start), int(following - start)


def expected_answers(definition: Definition, accepted: pa.Table) -> Answer:
    """What the query's reference says about every window that has records."""
    rows = prepared(definition, accepted)
    return answers_by_reference(definition, rows.to_pylist(), rows.schema)


def answers_by_reference(
    definition: Definition, rows: Iterable[dict[str, Any]], schema: pa.Schema | None = None
) -> Answer:
    """The same for records that have their internal columns."""
    members = _by_rank(definition, rows) if definition.window.counted else _by_time(definition, rows)
    answers = {}
    for where, group in members.items():
        own = dict(zip(definition.keys, where, strict=False))
        window = _window_at(definition, where[len(definition.keys) :])
        answers[where] = as_text(definition, definition.query.reference_of(group, own, window, schema))
    return answers


def _window_at(definition: Definition, where: tuple[Any, ...]) -> Window:
    if definition.window.counted:
        start, end, first, last, partial = where
        return Window(start, end, definition.time_zone, (first, last), partial)
    return Window(where[0], where[0] + size_and_slide_us(definition.window)[0], definition.time_zone)


def _by_time(definition: Definition, rows: Iterable[dict[str, Any]]) -> Members:
    members: Members = defaultdict(list)
    size, slide = size_and_slide_us(definition.window)
    for row in rows:
        time = micros(row[definition.time])
        start = time // slide * slide
        while start > time - size:
            where = (*(row[k] for k in definition.keys), start)
            members[where].append(row)
            start -= slide
    return members


def _by_rank(definition: Definition, rows: Iterable[dict[str, Any]]) -> Members:
    """All windows that have a record: the stream is over, so incomplete ones are emitted, too."""
    window = definition.window.rows
    assert window is not None
    lives: dict[tuple[Any, ...], list[list[dict[str, Any]]]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: (micros(row[definition.time]), row[ID])):
        life = lives[tuple(row[k] for k in definition.keys)]
        gap_us = micros(row[definition.time]) - micros(life[-1][-1][definition.time]) if life else None
        if gap_us is None or (window.ttl_us is not None and gap_us > window.ttl_us):
            life.append([])
        life[-1].append(row)
    members: Members = {}
    for key, each in ((key, each) for key, own in lives.items() for each in own):
        for first in range(0, len(each), window.slide):
            inside = each[first : first + window.size]
            times = (micros(row[definition.time]) for row in (inside[0], inside[-1]))
            where = (*key, *times, first, first + len(inside) - 1, len(inside) < window.size)
            members[where] = inside
    return members


def where_of(definition: Definition, row: Mapping[str, Any]) -> tuple[Any, ...]:
    """The key and the window of a result row."""
    window, keys = row[WINDOW], (row[k] for k in definition.keys)
    start, end = micros(window["start"]), micros(window["end"])
    if definition.window.counted:
        return (*keys, start, end, window["first"], window["last"], window["partial"])
    assert end - start == size_and_slide_us(definition.window)[0]
    return (*keys, start)


def actual_answers(definition: Definition, tables: Iterable[pa.Table]) -> Answer:
    """The same form from result tables; a window that comes twice is an error."""
    answers: Answer = {}
    for table in tables:
        here: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
        for row in table.to_pylist():
            here[where_of(definition, row)].append(row)
        for where, group in here.items():
            assert where not in answers, f"window {where} was emitted twice"
            answers[where] = as_text(definition, group)
    return answers


def as_text(definition: Definition, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Rows without keys, window and internal columns, in a canonical form."""
    return row_texts(rows, {*definition.keys, WINDOW})


def row_texts(rows: Sequence[Mapping[str, Any]], hidden: Collection[str] = ()) -> list[str]:
    """Rows without internal columns, so that neither their order nor the last digits of floating-point sums matter."""
    return sorted(
        repr(sorted((k, _canonical(v)) for k, v in row.items() if k not in hidden and not k.startswith(PREFIX)))
        for row in rows
    )


def _canonical(value: Any) -> Any:
    """Floats to eleven digits, with one zero: sums may differ in the last bits."""
    if isinstance(value, float) and math.isfinite(value):
        return float(f"{value:.11e}") + 0.0
    return value
