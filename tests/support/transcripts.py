"""Transcripts: the semantics of a stream as a readable YAML file - what arrives, what is emitted, step by step.

Times are seconds since the epoch. A step gives the records that arrive in one batch, and what must come out of it::

    query: {skyline: {minimize: [price], maximize: [rating]}}
    window: {size: 10 seconds, slide: 5 seconds}
    lateness: {fixed_delay: 0 seconds}
    schema: {ts: timestamp, price: double, rating: long}
    steps:
      - records: [[1, 20.0, 3], [12, 10.0, 1]]
        punctuation: 12
        windows:
          - {window: [-5, 5], rows: [[1, 20.0, 3]]}
          - {window: [0, 10], rows: [[1, 20.0, 3]]}
      - records: [[2, 1.0, 5]]
        late: [[2, 1.0, 5]]
      - flush: true
        windows: [...]

A step may say what the clock shows, e.g. ``now: 100``; without it, the records are old ones, long in the past. With a
flush of ``auto``, or ``idle: true``, the clock closes windows. ``held: 2`` says how many records are held after a step.
With ``allowed_lateness: 10 seconds`` the rows of the windows begin with their revision. Windows of records, e.g.
``window: {rows: 4, slide: 2}``, are told by their ranks and times: ``{window: [0, 3], times: [1, 9], rows: ...}``, and
``partial: true`` if they are not complete. With ``live: 10 seconds`` instead of a window, steps have rows that are
``told``: the key, what the emission adds, then the record. With ``distinct_by: offer`` and ``within: 3 seconds``, steps
may have ``duplicates``. ``max_past`` sets the past guard, which is else off.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import yaml

from skypane.api.options.distinct_options import distinct_of
from skypane.api.options.time_guard import TimeGuard
from skypane.flow.definition import Definition
from skypane.flow.windows.emit.names import emission
from skypane.lateness.future_guard import FutureGuard
from skypane.lateness.past_guard import PastGuard
from skypane.lateness.policies.fixed_delay import FixedDelay
from skypane.lateness.policies.kslack import KSlack
from skypane.lateness.policy import Lateness
from skypane.local.engine import LONG_AFTER_US, Engine
from skypane.model.ddl import as_schema
from skypane.model.durations import parse_duration_us
from skypane.model.ending import Ending
from skypane.model.live import LiveSpec
from skypane.model.panes import Panes
from skypane.model.row_windows import RowWindows
from skypane.model.windows import WindowSpec
from skypane.queries.aggregates import Aggregates
from skypane.queries.apply import Apply
from skypane.queries.base import Query
from skypane.queries.fold import Fold
from skypane.queries.folded import fold_query
from skypane.queries.functions.loading import load
from skypane.queries.preferences import Preferences
from skypane.queries.skyline import Skyline
from skypane.queries.top_delta import TopDelta
from skypane.queries.top_k import TopK
from skypane.tuning.patterns.base import Pattern

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_TYPES = {
    "timestamp": pa.timestamp("us", "UTC"),
    "double": pa.float64(),
    "long": pa.int64(),
    "string": pa.string(),
}


@dataclass(frozen=True)
class Outcome:
    """What a step emitted, in a form that compares: windows, late, quarantined and duplicate rows as sorted text."""

    windows: list[str]
    late: list[str]
    quarantined: list[str]
    duplicates: list[str]


@dataclass(frozen=True)
class TranscriptStep:
    """One batch, or an end, and what must come of it."""

    records: pa.Table | None
    """``None`` for a step without a batch."""
    ending: Ending | None
    now_us: int
    expected: Outcome
    punctuation_us: int | None
    held: int | None


@dataclass(frozen=True)
class Replayed:
    """What became of a step."""

    outcome: Outcome
    punctuation_us: int | None
    held: int


@dataclass(frozen=True)
class Transcript:
    """A whole story."""

    name: str
    definition: Definition
    policy: Lateness
    guard: FutureGuard
    past: PastGuard
    schema: pa.Schema
    steps: Sequence[TranscriptStep]


def load_transcripts(folder: Path) -> list[Transcript]:
    """All stories in a folder of YAML files; a file may hold several, as documents."""
    return [
        _transcript(f"{path.stem}: {body['name']}", body)
        for path in sorted(folder.glob("*.yaml"))
        for body in yaml.safe_load_all(path.read_text())
    ]


def replay(transcript: Transcript, degree: int = 1, pattern: Pattern | None = None) -> list[Replayed]:
    """Run a story on the pure engine."""
    engine = Engine(transcript.definition, transcript.policy, transcript.guard, pattern=pattern, past=transcript.past)
    state, outcomes = engine.start(), []
    for step in transcript.steps:
        if step.records is None:
            assert step.ending is not None
            state, output = engine.flush(state, degree, step.now_us, step.ending)
        else:
            cuts = [step.records.slice(i, 1) for i in range(step.records.num_rows)] or [step.records]
            state, output = engine.step(state, cuts if degree > 1 else [step.records], degree, step.now_us)
        outcome = outcome_of(transcript, output.answers, output.late, output.quarantined, output.duplicates)
        outcomes.append(Replayed(outcome, state.progress.punctuation_us, state.ledger.held))
    return outcomes


def outcome_of(
    transcript: Transcript,
    answers: Sequence[pa.Table],
    late: Sequence[pa.Table],
    quarantined: Sequence[pa.Table],
    duplicates: Sequence[pa.Table],
) -> Outcome:
    """Result tables in the form of the transcript's expectations."""
    own = transcript.schema.names
    texts = [
        [[_plain(row[name]) for name in own if name in row] for t in tables for row in t.to_pylist()]
        for tables in (late, quarantined, duplicates)
    ]
    lost = [sorted(map(repr, text)) for text in texts]
    if transcript.definition.emit.instants:
        told = [repr([_plain(value) for value in row.values()]) for table in answers for row in table.to_pylist()]
        return Outcome(sorted(told), *lost)
    return Outcome(_windows(transcript, answers), *lost)


def _windows(transcript: Transcript, answers: Sequence[pa.Table]) -> list[str]:
    """The answers of windows as text."""
    keys = transcript.definition.keys
    windows: dict[tuple[Any, ...], list[list[Any]]] = {}
    for row in (row for table in answers for row in table.to_pylist()):
        where = (_window_of(row.pop("window")), *(row[key] for key in keys))
        windows.setdefault(where, []).append([_plain(v) for name, v in row.items() if name not in keys])
    return sorted(_window_text(where, rows) for where, rows in windows.items())


def _transcript(name: str, body: Mapping[str, Any]) -> Transcript:
    schema = pa.schema([(column, _TYPES[kind]) for column, kind in body["schema"].items()])
    key = body.get("key", [])
    window = _panes(body)
    definition = Definition(
        _query(body["query"], body.get("time", "ts")),
        window,
        body.get("time", "ts"),
        (key,) if isinstance(key, str) else tuple(key),
        emit=emission(body.get("emit", window.default_emit)),
        corrupt="_corrupt_record" if "_corrupt_record" in schema.names else None,
        allowed_lateness_us=parse_duration_us(body.get("allowed_lateness", "0 s"), "allowed_lateness", zero_ok=True),
        distinct=distinct_of(body.get("distinct_by"), body.get("within")),
    )
    future = body.get("max_future")
    guard = FutureGuard(
        None if future is None else parse_duration_us(future, "max_future"), body.get("future_support", 5)
    )
    steps = [_step(schema, step) for step in body["steps"]]
    past = TimeGuard(max_past=body.get("max_past")).past()
    return Transcript(name, definition, _policy(body.get("lateness", {"kslack": {}})), guard, past, schema, steps)


def _panes(body: Mapping[str, Any]) -> Panes:
    if "live" in body:
        return LiveSpec.parse(body["live"])
    window = body["window"]
    if "rows" in window:
        return RowWindows.parse(window["rows"], window.get("slide"), window.get("ttl"))
    return WindowSpec.parse(window["size"], window.get("slide"))


def _query(body: Mapping[str, Any], time: str) -> Query:
    ((kind, options),) = body.items()
    preferences = {name: options.get(name, []) for name in ("minimize", "maximize")}
    if kind == "skyline":
        return Skyline(Preferences.of(**preferences))
    if kind == "top_delta":
        return TopDelta(options["delta"], Preferences.of(**preferences))
    if kind == "top_k":
        return TopK(options["k"], options["score"])
    if kind == "apply":
        return Apply.of(load(options["function"])[1], as_schema(options["schema"], "schema"))
    if kind == "fold":
        return fold_query(Fold.of(load(options["function"])[1]))
    return Aggregates.of(options, time)


def _policy(body: Mapping[str, Any]) -> Lateness:
    ((kind, options),) = body.items()
    return FixedDelay(options) if kind == "fixed_delay" else KSlack(**options)


def _step(schema: pa.Schema, body: Mapping[str, Any]) -> TranscriptStep:
    records = None
    if "records" in body:
        rows = [dict(zip(schema.names, row, strict=True)) for row in body["records"]]
        rows = [
            {k: _time(v) if pa.types.is_timestamp(schema.field(k).type) else v for k, v in row.items()} for row in rows
        ]
        records = pa.Table.from_pylist(rows, schema)
    windows = [
        _window_text((_told(w), *w.get("key", [])), [[_plain(v) for v in row] for row in w["rows"]])
        for w in body.get("windows", [])
    ]
    windows += [repr([_plain(value) for value in row]) for row in body.get("told", [])]
    lost = [
        sorted(repr([_plain(v) for v in row]) for row in body.get(name, []))
        for name in ("late", "quarantined", "duplicates")
    ]
    punctuation = body.get("punctuation")
    return TranscriptStep(
        records,
        _ending(body),
        round(body["now"] * 1e6) if "now" in body else LONG_AFTER_US,
        Outcome(sorted(windows), *lost),
        None if punctuation is None else round(punctuation * 1e6),
        body.get("held"),
    )


def _ending(body: Mapping[str, Any]) -> Ending | None:
    if "idle" in body:
        return "idle"
    return None if "flush" not in body else "auto" if body["flush"] == "auto" else "all"


def _told(body: Mapping[str, Any]) -> str:
    """What a story says of a window."""
    if "times" not in body:
        return _span_text(*body["window"])
    return _rank_text(*body["window"], *body["times"], partial=body.get("partial", False))


def _window_of(window: Mapping[str, Any]) -> str:
    """The same of a window of results."""
    times = _seconds(window["start"]), _seconds(window["end"])
    return (
        _rank_text(window["first"], window["last"], *times, partial=window["partial"])
        if "first" in window
        else (_span_text(*times))
    )


def _span_text(start: float, end: float) -> str:
    return f"[{start:g}, {end:g})"


def _rank_text(first: int, last: int, start: float, end: float, *, partial: bool) -> str:
    return f"{first}..{last} of {start:g}..{end:g}{' partial' * partial}"


def _window_text(where: Sequence[Any], rows: Sequence[Sequence[Any]]) -> str:
    span, *keys = where
    return f"{span} {keys or ''} {sorted(map(repr, rows))}"


def _plain(value: Any) -> Any:
    """Numbers as floats and times as seconds, so that YAML and Arrow agree."""
    if isinstance(value, datetime):
        return _seconds(value)
    return float(value) if isinstance(value, int) else value


def _seconds(when: datetime) -> float:
    return (when - EPOCH) / timedelta(seconds=1)


def _time(seconds: float | None) -> datetime | None:
    return None if seconds is None else EPOCH + timedelta(seconds=seconds)
