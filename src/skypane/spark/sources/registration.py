"""Registration: makes the sources known to a Spark session by their short names."""

from __future__ import annotations

from pyspark.sql import SparkSession

from skypane.spark.sources.traffic import TrafficSource


def register_sources(spark: SparkSession) -> None:
    """After this ``spark.readStream.format("skypane-traffic")`` works."""
    for source in (TrafficSource,):
        spark.dataSource.register(source)
