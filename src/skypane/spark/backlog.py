"""Backlog: how much waits at the sources, from Spark's report of its last batch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pyspark.sql.streaming.listener import SourceProgress, StreamingQueryProgress


def backlog_us(progress: StreamingQueryProgress | None) -> float | None:
    """How long the backlog would take at the speed of the last batch; ``None`` if a source does not report it.

    Kafka reports it, and so do skypane's own sources; files do not.
    """
    if progress is None or not progress.sources:
        return None
    reported = [_waiting(source) for source in progress.sources]
    if any(part is None for part in reported):
        return None
    waiting, taken = (sum(part[which] for part in reported if part is not None) for which in (0, 1))
    if waiting <= 0:
        return 0.0
    return None if taken <= 0 else waiting / taken * progress.batchDuration * 1_000.0


def _waiting(source: SourceProgress) -> tuple[float, float] | None:
    """What waited when the batch was cut, and what it took, in whatever the source counts."""
    start, end, latest = (_offset(text) for text in (source.startOffset, source.endOffset, source.latestOffset))
    if start is None or end is None or latest is None:
        return None
    counted = _numbers(latest)
    before, after = _numbers(start), _numbers(end)
    if not counted.keys() <= after.keys():
        return None
    waiting = sum(max(0.0, value - after[name]) for name, value in counted.items())
    return waiting, sum(max(0.0, after[name] - before.get(name, 0.0)) for name in counted)


def _offset(text: str | None) -> Mapping[str, Any] | None:
    try:
        offset = json.loads(text) if text else None
    except ValueError:
        return None
    return offset if isinstance(offset, dict) else None


def _numbers(offset: Mapping[str, Any], path: tuple[str, ...] = ()) -> dict[tuple[str, ...], float]:
    """The numbers of an offset, such as those of Kafka's partitions, by where they are."""
    found: dict[tuple[str, ...], float] = {}
    for name, value in offset.items():
        where = (*path, name)
        if isinstance(value, Mapping):
            found |= _numbers(value, where)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found[where] = float(value)
    return found
