"""The worked sink of docs/extend.md keeps the laws of sinks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from sqlite_sink import SqliteSink

pytestmark = pytest.mark.spark
sink_laws = pytest.importorskip("skypane.testing.sink_laws")


def as_kept(row: Mapping[str, Any]) -> str:
    """What JSON keeps of a row."""
    return json.dumps(row, default=str, sort_keys=True)


def test_the_sink_keeps_the_laws(spark: SparkSession, tmp_path: Path) -> None:
    sink_laws.check_sink(
        lambda folder: SqliteSink(folder / "answers.db"),
        lambda sink, folder: sink.read(),
        spark=spark,
        folder=tmp_path,
        keeps=as_kept,
    )
