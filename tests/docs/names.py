"""The names that pages use without defining them: a session, a small table of offers, the same as a stream, a query."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

import skypane as sp
from tests.docs.blocks import ROOT

START = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)
Names = dict[str, Any]


def offers(count: int = 300) -> pa.Table:
    """Offers of three seconds, with every column that a page names."""
    rng = random.Random(1)
    rows = [
        {
            "ts": START + timedelta(milliseconds=10 * n - rng.choice([0, 0, 0, 40])),
            "city": rng.choice(["ulm", "bonn"]),
            "shop": rng.choice(["north", "south"]),
            "user": rng.choice(["ann", "bo", "cy"]),
            "partition": n % 2,
            "price": float(rng.randint(20, 200)),
            "rating": float(rng.randint(1, 5)),
            "stars": float(rng.randint(1, 5)),
        }
        for n in range(count)
    ]
    return pa.Table.from_pylist(rows)


def names_for(page: str, spark: SparkSession, folder: Path) -> Names:
    """What the blocks of a page find defined before the first of them."""
    (folder / "stored").mkdir()
    pq.write_table(offers(), folder / "stored" / "offers.parquet", coerce_timestamps="us")
    table = spark.read.parquet(str(folder / "stored"))
    stream = spark.readStream.schema(table.schema).parquet(str(folder / "stored"))
    windows = sp.stream(stream, time="ts", key="city").window("1 second", slide="500 milliseconds")
    names: Names = {
        "__name__": "__main__",
        "sp": sp,
        "F": F,
        "datetime": datetime,
        "spark": spark,
        "df": stream,
        "offers": stream,
        "table": table,
        "windows": windows,
        "query": windows.skyline(minimize="price", maximize="rating"),
    }
    own = _OWN.get(page)
    return names if own is None else names | own(names, folder)


def _readme(names: Names, folder: Path) -> Names:
    def total(state: dict[str, Any], records: pa.Table) -> dict[str, Any]:
        return {"n": state["n"] + records.num_rows}

    return {
        "my_function": lambda records: {"low": 1.0, "median": 2.0},
        "MyQuery": lambda _: names["query"].question,
        "init": {"n": 0},
        "update": total,
        "merge": lambda left, right: {"n": left["n"] + right["n"]},
        "finish": lambda state: state,
    }


def _extend(names: Names, folder: Path) -> Names:
    """The worked files, found as their users find them."""
    sys.path.insert(0, str(ROOT / "examples" / "extend"))
    code = """
import json
import pyarrow as pa
from counted import Counted
from least_loaded import LeastLoaded
from near_best import NearBest
from recent_delays import RecentDelays
from sqlite_sink import SqliteSink
"""
    found: Names = {}
    exec(code, found)  # as at the head of the page's own module
    return found


def _live(names: Names, folder: Path) -> Names:
    """The five offers of the page as JSON, and updates that an earlier run has stored."""
    shown = [(0, 90, 3), (2_000, 70, 4), (5_000, 60, 1), (6_500, 65, 4), (15_000, 99, 2)]
    rows: list[dict[str, Any]] = [
        {"ts": START + timedelta(milliseconds=at), "city": "ulm", "price": price, "stars": stars}
        for at, price, stars in shown
    ]
    _write_json(folder / "offers", rows)
    (folder / "updates").mkdir()
    updates = pa.Table.from_pylist([{**row, "at": row["ts"], "change": 1} for row in rows])
    pq.write_table(updates, folder / "updates" / "part.parquet", coerce_timestamps="us")
    return {"df": names["table"]}


def _operations(names: Names, folder: Path) -> Names:
    """A query that has run, and lines of JSON of which one cannot be read."""
    rows = [{"ts": START, "price": 90, "stars": 3}, {"ts": START + timedelta(seconds=2), "price": "cheap", "stars": 5}]
    _write_json(folder / "in", rows)
    return {"query": names["query"].start(sink=sp.ParquetSink(folder / "earlier"), available_now=True)}


def _one_key(names: Names, folder: Path) -> Names:
    def medians(records: dict[str, np.ndarray[Any, Any]]) -> dict[str, float]:
        return {"a": float(np.median(records["price"])), "b": float(np.median(records["stars"]))}

    return {"medians": medians}


def _yahoo(names: Names, folder: Path) -> Names:
    stream: DataFrame = names["df"]
    owners = names["table"].selectExpr("shop AS ad", "1 AS campaign").distinct()
    return {"stream": stream.selectExpr("ts", "shop AS ad", "'view' AS event"), "owners": owners}


def _write_json(folder: Path, rows: list[dict[str, Any]]) -> None:
    folder.mkdir()
    lines = [json.dumps(row, default=lambda when: when.isoformat()) for row in rows]
    (folder / "rows.json").write_text("\n".join(lines))


def _duplicates(_names: Names, folder: Path) -> Names:
    """Offers, some of which come twice."""
    times = [("00:01", "a", 20), ("00:02", "b", 30), ("00:02", "a", 20), ("00:30", None, 25), ("00:31", None, 25)]
    times += [("09:00", "b", 28), ("14:00", "b", 29)]
    rows = [{"ts": f"2026-01-01T12:{time}Z", "offer_id": own, "price": price} for time, own, price in times]
    (folder / "in").mkdir()
    (folder / "in" / "offers.json").write_text("\n".join(map(json.dumps, rows)))
    return {}


_OWN: dict[str, Callable[[Names, Path], Names]] = {
    "README.md": _readme,
    "docs/duplicates.md": _duplicates,
    "docs/extend.md": _extend,
    "docs/live.md": _live,
    "docs/one-key.md": _one_key,
    "docs/operations.md": _operations,
    "examples/yahoo/README.md": _yahoo,
}
