"""Registration: makes the sources known to a Spark session by their short names."""

from __future__ import annotations

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource

from skypane.spark.sources.replay import ReplaySource
from skypane.spark.sources.traffic import TrafficSource
from skypane.spark.workers import use_this_python


def register_sources(spark: SparkSession) -> None:
    """After this ``spark.readStream.format("skypane-traffic")`` and ``"skypane-replay"`` work.

    Mostly they do anyway: Spark looks for packages called ``pyspark_*`` and finds them. It looks with the Python that
    it knows, so that it finds nothing if it was started before skypane was imported and from an environment that is
    not activated.
    """
    use_this_python(spark)  # a source keeps the Python that workers had when it was registered
    for source in (TrafficSource, ReplaySource):
        _register(spark, source)


def _register(spark: SparkSession, source: type[DataSource]) -> None:
    try:
        spark.dataSource.register(source)
    except AnalysisException as error:
        if error.getCondition() != "DATA_SOURCE_ALREADY_EXISTS":  # found by Spark itself
            raise
