"""RunOptions: where rows go, how often to take a step, when to end."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skypane.api.by_name import as_emission
from skypane.api.options import SINKS, check
from skypane.lateness.punctuator import Punctuator
from skypane.model.durations import Duration, parse_duration_us
from skypane.spark.options import LaunchOptions
from skypane.spark.sinks.base import Sink
from skypane.spark.sinks.custom import as_sink
from skypane.spark.stages import Settings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    SinkLike = Sink | Callable[[DataFrame, int], object]


@dataclass(frozen=True)
class RunOptions:
    """The options of :meth:`~skypane.api.stream.ContinuousQuery.start`, which explains them."""

    sink: SinkLike
    checkpoint: str | os.PathLike[str] | None = None
    late: SinkLike | None = None
    quarantine: SinkLike | None = None
    trigger: str = "500 milliseconds"
    available_now: bool = False
    flush: bool = True
    idle_timeout: Duration | None = "1 minute"
    emit: str = "full"
    name: str | None = None

    def __post_init__(self) -> None:
        given = {name: value for name, value in vars(self).items() if name not in SINKS}
        check("run", {**given, "checkpoint": None if self.checkpoint is None else os.fspath(self.checkpoint)})
        as_emission(self.emit)

    def for_launch(self, punctuator: Punctuator, settings: Settings) -> LaunchOptions:
        """As the launch wants them."""
        return LaunchOptions(
            checkpoint=self.checkpoint,
            sink=as_sink(self.sink, "sink"),
            late=None if self.late is None else as_sink(self.late, "late"),
            quarantine=None if self.quarantine is None else as_sink(self.quarantine, "quarantine"),
            trigger=None if self.available_now else self.trigger,
            flush=self.flush,
            idle_timeout_us=None if self.idle_timeout is None else parse_duration_us(self.idle_timeout, "idle_timeout"),
            punctuator=punctuator,
            settings=settings,
            name=self.name,
        )
