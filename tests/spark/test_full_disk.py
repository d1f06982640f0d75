"""A full disk is told in words, whether the driver finds out, or Spark, or a worker; with room, the query goes on."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PythonException
from pyspark.sql import SparkSession

import skypane as sp
from skypane.spark.failures import readable
from skypane.spark.store.disk import Disk, using
from tests.support.spark.streams import (
    Outputs,
    check_run,
    random_batches,
    read_batches,
    run_to_end,
    write_batches,
)

OF_A_WORKER = (
    "An exception was thrown from the Python worker:\nTraceback (most recent call last):\n  ...\nOSError: [Errno 28] "
    "Error writing bytes to file. Detail: [errno 28] No space left on device"
)


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "x"), PythonException(OF_A_WORKER)], ids=["driver", "worker"])
def test_a_full_disk_is_told_in_words(error: BaseException) -> None:
    found = readable(error)
    assert isinstance(found, sp.StorageError)
    assert "No space left on device: a step could not be written. Make room where the checkpoint" in str(found)


@pytest.mark.parametrize("error", [OSError(errno.EACCES, "x"), PythonException("ZeroDivisionError"), ValueError("28")])
def test_other_errors_stay_as_they_are(error: BaseException) -> None:
    assert readable(error) is error


class FullDisk(Disk):
    """Has room for so many files."""

    def __init__(self, files: int) -> None:
        self._left = files

    def writer(self, path: Path) -> Any:
        self._left -= 1
        if self._left < 0:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        return super().writer(path)


def test_with_room_the_query_goes_on_where_it_was(spark: SparkSession, tmp_path: Path) -> None:
    batches = random_batches(seed=51, batches=2)
    write_batches(tmp_path / "in", batches)
    windowed = sp.stream(read_batches(spark, tmp_path / "in"), time="ts", key="city").window("1 second", "500 ms")
    query, outputs = windowed.skyline(minimize="a", maximize="b"), Outputs()
    failed = 0
    for room in range(1, 100, 4):
        with using(FullDisk(room)):
            try:
                running = run_to_end(query, outputs, checkpoint=tmp_path / "c")
                break
            except sp.SkypaneError as error:
                assert "No space left on device" in str(error)
                failed += 1
    assert failed >= 2
    check_run(spark, query, batches, outputs, running.metrics())
