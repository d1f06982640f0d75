"""SinkNotChosen: what ``explain()`` shows before ``start()`` is given a sink."""

from __future__ import annotations

from skypane.spark.sinks.discard import DiscardSink


class SinkNotChosen(DiscardSink):
    """A placeholder for ``explain()`` before ``start()``, when no sink is chosen yet."""

    def describe(self) -> str:
        """One line for ``explain()``: the sink is chosen by ``start()``."""
        return "to the sink that start() is given"
