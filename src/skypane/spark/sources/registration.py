"""Registration: makes the sources known to a Spark session by their short names."""

from __future__ import annotations

from pyspark.sql import SparkSession

from skypane.spark.sources.replay import ReplaySource
from skypane.spark.sources.traffic import TrafficSource


def register_sources(spark: SparkSession) -> None:
    """After this ``spark.readStream.format("skypane-traffic")`` and ``"skypane-replay"`` work."""
    for source in (TrafficSource, ReplaySource):
        spark.dataSource.register(source)
