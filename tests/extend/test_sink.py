"""The worked sink of docs/extend.md keeps the laws of sinks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from skypane.testing import check_sink
from sqlite_sink import SqliteSink

pytestmark = pytest.mark.spark


def as_kept(row: Mapping[str, Any]) -> str:
    """What JSON keeps of a row."""
    return json.dumps(row, default=str, sort_keys=True)


def test_the_sink_keeps_the_laws(spark: SparkSession, tmp_path: Path) -> None:
    check_sink(
        lambda folder: SqliteSink(folder / "answers.db"),
        lambda sink, folder: sink.read(),
        spark=spark,
        folder=tmp_path,
        keeps=as_kept,
    )
