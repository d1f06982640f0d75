"""Pacing: when steps are taken - Spark's trigger, the idle timeout, the bound on latency."""

from __future__ import annotations

from typing import Any

from skypane.flow.definition import Definition
from skypane.model.durations import parse_duration_us
from skypane.spark.idleness import Idleness
from skypane.spark.options import LaunchOptions
from skypane.tuning.pace import Pace
from skypane.tuning.pattern_fit import work_of


def trigger_of(options: LaunchOptions) -> dict[str, Any]:
    """When Spark cuts batches; where answers have a bound, at once: the query itself waits between steps."""
    if options.trigger is None:
        return {"availableNow": True}
    return {"processingTime": f"{_between_cuts_us(options) // 1_000} milliseconds"}


def _between_cuts_us(options: LaunchOptions) -> int:
    """How long Spark waits before it looks for records again, from when it did last."""
    if options.trigger is None or options.parallel.max_latency_us is not None:
        return 0
    return parse_duration_us(options.trigger, "trigger", zero_ok=True)


def idleness_of(options: LaunchOptions) -> Idleness:
    """What is available now ends by itself."""
    idle_us = None if options.trigger is None else options.idle_timeout_us
    return Idleness(None if idle_us is None else idle_us / 1e6)


def all_waits_us(options: LaunchOptions) -> float | None:
    """Of a run over what is available now: all of it waits, also where the source does not say how much it is."""
    elastic = options.parallel.elastic
    return None if elastic is None or options.trigger is not None else float(elastic.period_us)


def pace_of(definition: Definition, options: LaunchOptions) -> Pace | None:
    """Who says when steps are taken, where answers have a bound; what is available now is there already."""
    max_us = options.parallel.max_latency_us
    if max_us is None or options.trigger is None:
        return None
    work = work_of(definition)
    return Pace(max_us, work.windows.slide if work.divisible else None)
