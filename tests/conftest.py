"""One embedded Spark session per test process for all tests that need one: starting it is the dearest part of most."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from pyspark.sql import SparkSession

import skypane as sp
from tests.spark_support.jvm import SHORT_LIVED

# For the embedded session and for those of processes that tests start.
os.environ.setdefault("SPARK_SUBMIT_OPTS", SHORT_LIVED)

# The same examples in every run: a change that fails is at fault itself. `make soak` goes looking for new ones.
# How long it takes to make them up, or to run one, says how busy the machine is.
settings.register_profile(
    "same-examples", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("new-examples", print_blob=True, deadline=None)
settings.load_profile("same-examples")


@pytest.fixture(scope="session")
def spark_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Everything that Spark and its JVM have to say."""
    return tmp_path_factory.mktemp("spark-log") / "spark.log"


@pytest.fixture(scope="session")
def spark(spark_log: Path) -> Iterator[SparkSession]:
    session = sp.embedded_session("skypane-tests", cores=2, log_file=spark_log)
    yield session
    session.stop()
