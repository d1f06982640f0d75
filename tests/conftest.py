"""One embedded Spark session per test process for all tests that need one: starting it is the dearest part of most."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import skypane as sp
from skypane.kernels import sliding
from skypane.spark.sources import register_sources
from tests.support.examples import use_same_examples
from tests.support.spark.jvm import SHORT_LIVED

# For the embedded session and for those of processes that tests start.
os.environ.setdefault("SPARK_SUBMIT_OPTS", SHORT_LIVED)

use_same_examples()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever uses the shared session has the mark ``spark``."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")


@pytest.fixture(scope="session")
def spark_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Everything that Spark and its JVM have to say."""
    return tmp_path_factory.mktemp("spark-log") / "spark.log"


@pytest.fixture(scope="session")
def spark(spark_log: Path) -> Iterator[SparkSession]:
    session = sp.embedded_session("skypane-tests", cores=2, log_file=spark_log)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def spark_session_for_sources(spark: SparkSession) -> SparkSession:
    """The shared session, with the data sources registered."""
    register_sources(spark)
    return spark


@pytest.fixture(autouse=True, scope="module")
def _thresholds() -> Iterator[None]:
    """A threshold that the tests of one file lower is as it was for those of other files."""
    big_key_rows = sliding.BIG_KEY_ROWS
    yield
    sliding.BIG_KEY_ROWS = big_key_rows
