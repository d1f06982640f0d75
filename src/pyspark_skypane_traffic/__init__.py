"""Where Spark looks for the source ``skypane-traffic``: the ``DefaultSource`` of every ``pyspark_*`` package."""

from skypane.spark.sources.traffic import TrafficSource as DefaultSource

__all__ = ["DefaultSource"]
