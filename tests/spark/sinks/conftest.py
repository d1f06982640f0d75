"""A query whose rows every sink gets, and what it emits; made once in a test process."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

import skypane as sp
from skypane.api.continuous_query import ContinuousQuery
from tests.support.spark.streams import Outputs, random_batches, read_batches, run_to_end, write_batches

# After the epoch: ORC itself cannot keep fractions of a second before it.
BATCHES = random_batches(seed=41, batches=3, start_us=1_000_000_000_000_000)


@pytest.fixture(scope="session")
def query(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> ContinuousQuery:
    folder = tmp_path_factory.mktemp("sinks") / "in"
    write_batches(folder, BATCHES)
    stream = sp.stream(read_batches(spark, folder), time="ts", key="city")
    return stream.window("1 second", slide="500 ms").skyline(minimize="a", maximize="b")


@pytest.fixture(scope="session")
def wanted(query: ContinuousQuery) -> Outputs:
    outputs = Outputs()
    run_to_end(query, outputs)
    assert outputs.results.rows()
    assert outputs.late.rows()
    assert outputs.quarantine.rows()
    return outputs
