"""RunOptions: where rows go, how often to take a step, when to end."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from skypane.api.options.declarations import SINKS, check
from skypane.model.durations import Duration
from skypane.model.ending import Ending

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from skypane.spark.sinks.base import Sink

    SinkLike = Sink | Callable[[DataFrame, int], object]


@dataclass(frozen=True)
class RunOptions:
    """The options of :meth:`~skypane.api.continuous_query.ContinuousQuery.start`, which explains them."""

    sink: SinkLike
    checkpoint: str | os.PathLike[str] | None = None
    late: SinkLike | None = None
    quarantine: SinkLike | None = None
    failed: SinkLike | None = None
    duplicates: SinkLike | None = None
    trigger: str = "500 milliseconds"
    available_now: bool = False
    flush: bool | Literal["auto"] = "auto"
    idle_timeout: Duration | None = "1 minute"
    name: str | None = None
    accept_changed_code: bool = False

    def __post_init__(self) -> None:
        given = {name: value for name, value in vars(self).items() if name not in SINKS}
        if isinstance(self.checkpoint, os.PathLike):
            given["checkpoint"] = os.fspath(self.checkpoint)
        check("run", given)

    @property
    def ending(self) -> Ending | None:
        """What becomes of open windows at the end of ``available_now``."""
        if self.flush == "auto" and self.checkpoint is not None:
            return "auto"
        return "all" if self.flush else None
