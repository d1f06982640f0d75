"""A full disk is told in words, whether the driver finds out, or Spark, or a worker."""

from __future__ import annotations

import errno

import pytest
from pyspark.errors import PythonException

import skypane as sp
from skypane.spark.failures import readable

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
