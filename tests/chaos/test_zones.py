"""A session with another time zone continues: what is stored shows times in the zone of the session that stored it."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from tests.chaos.process import Work
from tests.chaos.worlds import World
from tests.support.configurations import Configuration
from tests.support.records import SCHEMA
from tests.support.spark.streams import random_batches


@pytest.mark.parametrize("processing", ["out_of_order", "in_order"])
@pytest.mark.parametrize("query", ["skyline", "top_k", "aggregate"])
def test_every_batch_may_show_its_times_in_another_zone(query: str, processing: str) -> None:
    batches = random_batches(seed=71, batches=6)
    zones = ["UTC", "Asia/Tokyo", "America/St_Johns"]
    elsewhere = [in_zone(batch, zones[number % 3]) for number, batch in enumerate(batches)]
    lateness = {"allowed": "2 seconds"} if query == "aggregate" else {}
    parallel = {"processing": processing, "inline_rows": 0}
    configuration = Configuration(
        query, ("8 seconds", "500 milliseconds"), ("city",), "kslack", "full", lateness=lateness, parallel=parallel
    )
    at_home, away = (World.around(0, Work(configuration, rows), random.Random(0)) for rows in (batches, elsewhere))
    assert len(at_home.undisturbed.contents["results"]) > 3
    assert away.undisturbed == at_home.undisturbed


def in_zone(batch: pa.Table, zone: str) -> pa.Table:
    """The same instants."""
    place = SCHEMA.get_field_index("ts")
    return batch.cast(SCHEMA.set(place, pa.field("ts", pa.timestamp("us", zone))))
