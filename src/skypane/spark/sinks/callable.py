"""CallableSink: your own function as a sink."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame

from skypane.spark.sinks.base import Sink, StepRows


class CallableSink(Sink):
    """Calls ``function(DataFrame, step)`` for every step.

    After a crash the last call may come again, with the same step and the same rows: make it idempotent by the step.
    """

    def __init__(self, function: Callable[[DataFrame, int], object]) -> None:
        self._function = function

    def publish(self, step: int, rows: StepRows) -> None:
        """Call it; steps without rows are passed over."""
        if rows.rows:
            self._function(rows.dataframe(), step)

    def describe(self) -> str:
        """The function's name, for ``explain()``."""
        return f"calls {getattr(self._function, '__qualname__', repr(self._function))}"
