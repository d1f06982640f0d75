"""One embedded Spark session for the tests of the data sources."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from skypane.spark.sources import register_sources


@pytest.fixture(scope="session")
def spark_session_for_sources() -> Iterator[SparkSession]:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    register_sources(session)
    yield session  # noqa: PT022 - other tests may share the session, so it is not stopped
