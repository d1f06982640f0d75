"""The shared Spark session, with the data sources registered."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from skypane.spark.sources import register_sources


@pytest.fixture(scope="session")
def spark_session_for_sources(spark: SparkSession) -> SparkSession:
    register_sources(spark)
    return spark
