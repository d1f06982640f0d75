"""The options of a launch: those of ``start()`` with sinks as objects and durations as numbers."""

from __future__ import annotations

from skypane.api.options.run_options import RunOptions
from skypane.lateness.punctuator import Punctuator
from skypane.model.durations import parse_duration_us
from skypane.spark.options import LaunchOptions
from skypane.spark.sinks.as_sink import as_sink
from skypane.tuning.parallel_plan import ParallelPlan


def launch_options(run: RunOptions, punctuator: Punctuator, parallel: ParallelPlan, slots: int) -> LaunchOptions:
    """Sinks as objects, durations as numbers."""
    idle_us = None if run.idle_timeout is None else parse_duration_us(run.idle_timeout, "idle_timeout")
    return LaunchOptions(
        checkpoint=run.checkpoint,
        sink=as_sink(run.sink, "sink"),
        late=None if run.late is None else as_sink(run.late, "late"),
        quarantine=None if run.quarantine is None else as_sink(run.quarantine, "quarantine"),
        failed=None if run.failed is None else as_sink(run.failed, "failed"),
        duplicates=None if run.duplicates is None else as_sink(run.duplicates, "duplicates"),
        trigger=None if run.available_now else run.trigger,
        ending=run.ending,
        idle_timeout_us=idle_us,
        punctuator=punctuator,
        parallel=parallel,
        slots=slots,
        name=run.name,
        accept_changed_code=run.accept_changed_code,
    )
