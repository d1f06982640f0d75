"""The source skypane-replay on real Spark: every row once, in order of arrival, at the asked speed."""

from __future__ import annotations

import time
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from skypane.model.errors import OptionError, SchemaError
from skypane.spark.sources.replay_file import ReplayFile
from skypane.traffic.commands import generate
from tests.support.spark.streams import WAIT_S

pytestmark = pytest.mark.spark


def replayed(spark: SparkSession, path: Path, checkpoint: Path, **options: Any) -> list[pa.Table]:
    seen: list[pa.Table] = []
    df = spark.readStream.format("skypane-replay").options(path=str(path), **options).load()
    (
        df.writeStream.foreachBatch(lambda batch, _: seen.append(batch.toArrow()))
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
        .awaitTermination()
    )
    return seen


def test_a_file_is_replayed_in_order_of_arrival(spark_session_for_sources: SparkSession, tmp_path: Path) -> None:
    made = generate({"records": 25_000, "attributes": 2}, tmp_path / "made.parquet").path
    seen = replayed(
        spark_session_for_sources, made, tmp_path / "checkpoint", max_records_per_batch=15_000, partitions=2
    )
    assert [table.num_rows for table in seen] == [15_000, 10_000]
    expected = pa.Table.from_batches(ReplayFile(str(made), "arrival").read(0, 25_000))
    assert pa.concat_tables(seen).column("id").to_pylist() == expected.column("id").to_pylist()


def test_rows_become_available_at_the_asked_speed(spark_session_for_sources: SparkSession, tmp_path: Path) -> None:
    start = datetime(2020, 1, 1)  # noqa: DTZ001 - recorded without a zone
    arrivals = [start + timedelta(minutes=minute) for minute in range(10)]
    path = tmp_path / "minutes.parquet"
    pq.write_table(pa.table({"landed": arrivals[::-1], "n": list(range(10))[::-1]}), path)
    seen: list[tuple[float, list[int]]] = []
    df = (
        spark_session_for_sources.readStream.format("skypane-replay")
        .options(path=str(path), arrival="landed", speed=200)
        .load()
    )
    query = (
        df.writeStream.foreachBatch(lambda batch, _: seen.append((time.time(), [row.n for row in batch.collect()])))
        .trigger(processingTime="200 milliseconds")
        .start()
    )
    began = time.time()
    while sum(len(rows) for _, rows in seen) < 10 and time.time() - began < WAIT_S and query.isActive:
        time.sleep(0.1)
    query.stop()
    assert [n for _, rows in seen for n in rows] == list(range(10))
    # Nine minutes at 200 times the speed are 2.7 seconds; a busy machine may take more.
    assert 1.5 < seen[-1][0] - seen[0][0] < WAIT_S


def test_a_changed_file_is_refused(spark_session_for_sources: SparkSession, tmp_path: Path) -> None:
    path = generate({"records": 100}, tmp_path / "made.parquet").path
    replayed(spark_session_for_sources, path, tmp_path / "checkpoint")
    generate({"records": 100, "seed": 1}, path)
    with pytest.raises(PySparkException, match=r"the content of .* changed"):
        replayed(spark_session_for_sources, path, tmp_path / "checkpoint")


def test_any_order_of_the_file_and_any_cut_give_the_same_rows(tmp_path: Path) -> None:
    rows = 5_000
    arrival = np.random.default_rng(3).integers(0, 500, rows).astype("datetime64[ms]")
    table = pa.table({"arrival": arrival, "n": np.arange(rows)})
    for name, content in {
        "mixed": table,
        "sorted": table.sort_by([("arrival", "ascending"), ("n", "ascending")]),
    }.items():
        pq.write_table(content, tmp_path / f"{name}.parquet", row_group_size=700)
    files = [ReplayFile(str(tmp_path / f"{name}.parquet"), "arrival") for name in ("mixed", "sorted")]
    assert [file.in_order for file in files] == [False, True]
    cuts = [0, 1, 699, 700, 2_900, 5_000]
    read = [
        [n for low, high in pairwise(cuts) for batch in file.read(low, high) for n in batch.column("n").to_pylist()]
        for file in files
    ]
    assert read[0] == read[1]
    assert files[0].fingerprint == files[1].fingerprint


def test_a_csv_file_gives_the_same_rows_as_parquet(tmp_path: Path) -> None:
    made = [generate({"records": 3_000, "keys": 2}, tmp_path / f"made{suffix}").path for suffix in (".parquet", ".csv")]
    of_parquet, of_csv = (
        pa.Table.from_batches(ReplayFile(str(path), "arrival").read(0, 3_000)).to_pydict() for path in made
    )
    assert of_parquet == of_csv


def test_bad_files_are_named(tmp_path: Path) -> None:
    path = generate({"records": 10}, tmp_path / "made.parquet").path
    with pytest.raises(OptionError, match="no such file"):
        ReplayFile(str(tmp_path / "none.parquet"), "arrival")
    with pytest.raises(OptionError, match=r"\.parquet or \.csv"):
        ReplayFile(str(tmp_path), "arrival")
    with pytest.raises(SchemaError, match="'landed' is not in"):
        ReplayFile(str(path), "landed")
    with pytest.raises(SchemaError, match="must be a timestamp"):
        ReplayFile(str(path), "a0")
