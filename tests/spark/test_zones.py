"""Sessions with other zones, under any name that Spark takes, or without zones by default: the same instants."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

import pandas as pd
import pytest
from pyspark.sql import SparkSession

import skypane as sp
from tests.support.spark.streams import Outputs, micros, random_batches, read_batches, run_to_end, write_batches

ZONE, KIND = "spark.sql.session.timeZone", "spark.sql.timestampType"
NOON = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)


@pytest.fixture
def own(spark: SparkSession) -> SparkSession:
    return spark.newSession()


@pytest.mark.parametrize("kind", ["TIMESTAMP_LTZ", "TIMESTAMP_NTZ"])
@pytest.mark.parametrize("zone", ["Europe/Berlin", "GMT+2", "PST"])
def test_as_of_finds_the_same_hour_in_any_session(own: SparkSession, kind: str, zone: str) -> None:
    own.conf.set(ZONE, zone)
    own.conf.set(KIND, kind)
    hours = [f"timestamp_micros({micros(NOON + timedelta(hours=hour))})" for hour in (-1, 0, 1)]
    history = own.sql(
        f"SELECT {hours[0]} valid_from, {hours[1]} valid_to, 'before' what "
        f"UNION ALL SELECT {hours[1]}, {hours[2]}, 'after'"
    )
    assert [row.what for row in sp.as_of(history, NOON + timedelta(minutes=15)).collect()] == ["after"]
    shown = own.sql(f"SELECT date_format({hours[1]}, 'yyyy-MM-dd HH:mm:ss') text").collect()[0].text
    assert [row.what for row in sp.as_of(history, shown).collect()] == ["after"]


def bounds(key: object, window: sp.Window, records: pd.DataFrame) -> dict[str, object]:
    del key
    return {"since": window.start, "until": window.end, "newest": records["ts"].max()}


def test_functions_sinks_and_restarts_take_any_name_of_a_zone(
    spark: SparkSession, own: SparkSession, tmp_path: Path
) -> None:
    batches = random_batches(seed=4, batches=3)
    asked, outputs = {}, {"UTC": Outputs(), "GMT+2": Outputs()}
    for zone, session in (("UTC", spark), ("GMT+2", own)):
        session.conf.set(ZONE, zone)
        stream = sp.stream(read_batches(session, tmp_path / "in"), time="ts", key="city").window("1 second")
        asked[zone] = stream.apply(bounds, "since timestamp, until timestamp, newest timestamp")
    for number, batch in enumerate(batches):
        write_batches(tmp_path / "in", [batch], first=number)
        for zone, folder in (("UTC", "one"), (("GMT+2", "UTC")[number % 2], "two")):
            kept = outputs["UTC" if folder == "one" else "GMT+2"]
            run_to_end(asked[zone], kept, checkpoint=tmp_path / folder, flush=number == len(batches) - 1)
    wanted, found = (outputs[zone].results.rows() for zone in ("UTC", "GMT+2"))
    assert found == wanted
    assert len(wanted) > 4


def test_a_zone_that_arrow_cannot_name_is_refused(own: SparkSession, tmp_path: Path) -> None:
    own.conf.set(ZONE, "+01:02:03")
    records = read_batches(own, tmp_path / "in")
    with pytest.raises(sp.OptionError, match=r"timeZone is '\+01:02:03': Arrow.* has no offsets with seconds\. Set"):
        sp.stream(records, time="ts")
