"""Where Spark looks for the source ``skypane-replay``: the ``DefaultSource`` of every ``pyspark_*`` package."""

from skypane.spark.sources.replay import ReplaySource as DefaultSource

__all__ = ["DefaultSource"]
