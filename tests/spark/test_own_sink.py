"""The example of docs/write-a-sink.md, executed as it stands on the page, keeps the laws of sinks."""

from __future__ import annotations

import json
import re
import sqlite3
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from skypane.spark.sinks.base import Sink
from skypane.testing.sink_laws import PLAIN, check_sink

pytestmark = pytest.mark.spark

PAGE = Path(__file__).parents[2] / "docs" / "write-a-sink.md"


def test_the_page_example_keeps_the_laws(spark: SparkSession, tmp_path: Path) -> None:
    code = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)[0]
    page: dict[str, Any] = {"__name__": "page"}
    exec(compile(code, str(PAGE), "exec", dont_inherit=True), page)

    def read(sink: Any, _: Path) -> list[dict[str, Any]]:
        return [as_row(line) for (line,) in sink.db.execute("SELECT answer FROM answers").fetchall()]

    def make(folder: Path) -> Sink:
        sink: Sink = page["SqliteSink"](folder / "rows.db")
        return sink

    check_sink(make, read, spark=spark, folder=tmp_path)
    with sqlite3.connect(tmp_path / "trial-0" / "rows.db") as db:
        assert len(db.execute("SELECT * FROM answers").fetchall()) > 0


def as_row(line: str) -> dict[str, Any]:
    row = {**dict.fromkeys(PLAIN.names), **json.loads(line)}
    row["window"] = {name: datetime.fromisoformat(text) for name, text in row["window"].items()}
    return row
