"""The brute-force oracle of a live query: the answer at every instant at which it may change, the slow obvious way."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from skypane.flow.definition import Definition
from skypane.local.preparation import prepare
from skypane.model.columns import AT, CAUSE, CHANGE, EXPIRES, VALID_FROM, VALID_TO
from skypane.testing.oracle import micros, row_texts

History = dict[tuple[Any, ...], list[str]]
"""(keys..., instant in microseconds) -> the answer's rows as sorted text; instants without an answer are left out."""

_ADDED = {AT, CAUSE, CHANGE, EXPIRES, VALID_FROM, VALID_TO}


def instants_of(definition: Definition, accepted: pa.Table) -> list[int]:
    """When records come or expire: between two of these no answer changes."""
    life_us = definition.window.reach_us
    times = {micros(time) for time in accepted.column(definition.time).to_pylist()}
    return sorted({*times, *(time + life_us for time in times)})


def expected_history(definition: Definition, accepted: pa.Table) -> History:
    """What the query's reference says about the records that are live at each instant."""
    by_key: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in prepare(definition.query, definition.keys, accepted).to_pylist():
        by_key[tuple(row[key] for key in definition.keys)].append(row)
    life_us, history = definition.window.reach_us, {}
    for key, rows in by_key.items():
        for instant in instants_of(definition, accepted):
            live = [
                row for row in rows if micros(row[definition.time]) <= instant < micros(row[definition.time]) + life_us
            ]
            if live:
                where = (*key, instant)
                history[where] = _texts(definition, definition.query.reference(live))
    return history


def folded_updates(definition: Definition, tables: Iterable[pa.Table], instants: Sequence[int]) -> History:
    """The answers that updates add up to; rows must be in order, and none may leave that is not there."""
    by_key: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in (row for table in tables for row in table.to_pylist()):
        by_key[tuple(row[key] for key in definition.keys)].append(row)
    history: History = {}
    for key, rows in by_key.items():
        places = [(micros(row[AT]), row[CHANGE]) for row in rows]
        assert places == sorted(places), f"updates of {key} are out of order"
        held: list[str] = []
        waiting = list(reversed(rows))
        for instant in instants:
            while waiting and micros(waiting[-1][AT]) <= instant:
                row = waiting.pop()
                check_cause(definition, row)
                (text,) = _texts(definition, [row])
                held.append(text) if row[CHANGE] > 0 else held.remove(text)
            if held:
                where = (*key, instant)
                history[where] = sorted(held)
        assert not waiting, f"updates of {key} between the instants"
    return history


def check_cause(definition: Definition, row: dict[str, Any]) -> None:
    """A record comes when it arrives, or later, and expires when its life is over, or leaves before."""
    at, time, life_us = micros(row[AT]), micros(row[definition.time]), definition.window.reach_us
    assert micros(row[EXPIRES]) == time + life_us
    assert time <= at <= time + life_us
    comes, goes = {True: "arrival", False: "influence"}, {True: "expired", False: "dominated"}
    assert row[CAUSE] == (comes[at == time] if row[CHANGE] > 0 else goes[at == time + life_us]), row


def history_of_intervals(definition: Definition, tables: Iterable[pa.Table], instants: Sequence[int]) -> History:
    """The answers as of each instant, from a table of intervals."""
    rows = [row for table in tables for row in table.to_pylist()]
    history: History = {}
    for instant in instants:
        valid: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
        for row in rows:
            assert micros(row[VALID_FROM]) < micros(row[VALID_TO])
            if micros(row[VALID_FROM]) <= instant < micros(row[VALID_TO]):
                valid[tuple(row[key] for key in definition.keys)].append(row)
        history |= {(*key, instant): _texts(definition, own) for key, own in valid.items()}
    return history


def _texts(definition: Definition, rows: Sequence[dict[str, Any]]) -> list[str]:
    return row_texts(rows, {*definition.keys, *_ADDED})
