"""A changed byte in any kind of file of a checkpoint or of a Parquet sink: refused by name, or the answers are right.

On Spark, for what Spark itself stores and reads; ``chaos/`` does the same to our own files, thousands of times.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import skypane as sp
from skypane.api.continuous_query import ContinuousQuery
from skypane.spark.store import state_files
from tests.support.spark.streams import WAIT_S, random_batches, read_batches, write_batches

pytestmark = [pytest.mark.spark, pytest.mark.soak]

BATCHES = random_batches(seed=61, batches=4)
KINDS = (
    *("c/_skypane.json", "c/query.json", "c/manifests/*.json", "c/state/*.arrow"),
    *("c/spark/metadata", "c/spark/offsets/[0-9]*", "c/spark/commits/[0-9]*", "c/spark/sources/0/[0-9]*"),
    *("c/spark/offsets/.*.crc", "c/spark/commits/.*.crc"),
    *("out/_skypane.json", "out/_files.log", "out/schema.parquet", "out/step-*.parquet"),
)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("damage") / "in"


@pytest.fixture(scope="module")
def query(spark: SparkSession, source: Path) -> ContinuousQuery:
    stream = sp.stream(read_batches(spark, source), time="ts", key="city")
    asked = stream.window("1 second", slide="500 ms").aggregate(rows="count", low="min(a)")
    return asked.lateness(sp.FixedDelay("0 seconds"), allowed="10 seconds")


@pytest.fixture(scope="module")
def left(query: ContinuousQuery, source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A query that was stopped with open windows; half of the records are still to come, some of them late."""
    folder = tmp_path_factory.mktemp("left")
    write_batches(source, BATCHES[:2])
    run(query, folder, flush=False)
    write_batches(source, BATCHES[2:], first=2)
    return folder


@pytest.fixture(scope="module")
def wanted(query: ContinuousQuery, left: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, undamaged and at its end."""
    folder = tmp_path_factory.mktemp("wanted") / "copy"
    shutil.copytree(left, folder)
    run(query, folder)
    assert rows(folder) != rows(left)
    return folder


def run(query: ContinuousQuery, folder: Path, **options: Any) -> None:
    state_files._cache.clear()  # as in a new process: what is in memory cannot be damaged on disk
    options = {"sink": sp.ParquetSink(folder / "out"), "checkpoint": folder / "c", **options}
    assert query.start(available_now=True, **options).await_termination(WAIT_S)


def rows(folder: Path, without: str = "") -> list[str]:
    paths = [path for path in sorted((folder / "out").glob("step-*.parquet")) if path.name != without]
    return sorted(repr(row) for path in paths for row in pq.read_table(path).to_pylist())


@pytest.mark.parametrize("kind", KINDS)
def test_a_changed_byte_is_refused_or_harmless(
    query: ContinuousQuery, left: Path, wanted: Path, tmp_path: Path, kind: str
) -> None:
    size = max(left.glob(kind)).stat().st_size
    for place in (0, size // 2, size - 1):
        folder = tmp_path / str(place)
        shutil.copytree(left, folder)
        path = max(folder.glob(kind))
        data = bytearray(path.read_bytes())
        data[place] ^= 1
        path.write_bytes(data)
        damaged = path.name if path.match("out/step-*.parquet") else ""
        try:
            run(query, folder)
        except Exception as error:  # noqa: BLE001 - ours or Spark's
            text = str(error)
            assert path.name in text or str(path.parent) in text, f"{kind}, byte {place}: {error!r}"
        else:
            # What a reader finds in a file that was published is not looked at again, unless it is revised.
            assert rows(folder, damaged) == rows(wanted, damaged), f"{kind}, byte {place}"
