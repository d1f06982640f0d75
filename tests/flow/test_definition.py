"""What a definition refuses: columns that the result adds, but only where it adds them; where its query runs."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import pyarrow as pa
import pytest

from skypane.flow.definition import Definition
from skypane.flow.windows.emit.changes import Changes
from skypane.model.errors import SchemaError
from skypane.model.windows import WindowSpec
from skypane.queries.frames import Placement
from skypane.queries.preferences import Preferences
from skypane.queries.skyline import Skyline

PLAIN = Definition(Skyline(Preferences.of("a", ())), WindowSpec(2, 1), "ts", ("key",), partition="part")
RECORDS = pa.schema(
    [
        ("ts", pa.timestamp("us")),
        ("key", pa.string()),
        ("part", pa.int32()),
        ("a", pa.float64()),
        ("b", pa.list_(pa.int32())),
    ]
)


@pytest.mark.parametrize(
    ("name", "adds", "does_not"),
    [
        ("Revision", replace(PLAIN, allowed_lateness_us=1), PLAIN),
        ("change", replace(PLAIN, emit=Changes()), replace(PLAIN, allowed_lateness_us=1)),
        ("window", PLAIN, None),
        ("__sp_x", PLAIN, None),
    ],
)
def test_names_are_refused_where_the_result_has_them(name: str, adds: Definition, does_not: Definition | None) -> None:
    records = RECORDS.append(pa.field(name, pa.int64()))
    with pytest.raises(SchemaError, match=re.escape(repr(name))):
        adds.check(records)
    if does_not is not None:
        does_not.check(records)


@pytest.mark.parametrize(
    ("definition", "message"),
    [
        (replace(PLAIN, time="a"), "Time column 'a' has type double; it must be a timestamp"),
        (replace(PLAIN, keys=("key", "b")), "Key 'b' has type list"),
        (replace(PLAIN, partition="b"), "Partition column 'b' has type list"),
        (replace(PLAIN, keys=("town",)), "Key 'town' is not a column"),
    ],
)
def test_columns_are_refused_by_their_role(definition: Definition, message: str) -> None:
    PLAIN.check(RECORDS)
    with pytest.raises(SchemaError, match=message):
        definition.check(RECORDS)


@dataclass(frozen=True)
class Placed(Skyline):
    """Remembers where it runs."""

    placement: Placement | None = None

    def placed(self, placement: Placement) -> Placed:
        return replace(self, placement=placement)


def test_a_query_runs_where_its_definition_says() -> None:
    question = Placed(Preferences.of("a", ()))
    definition = Definition(question, WindowSpec(2, 1), "ts", ("key",), allowed_lateness_us=1)
    place = Placement("ts", ("key",), WindowSpec(2, 1), "UTC", amendable=True)
    assert definition.query == replace(question, placement=place)
    assert definition.question == question
    assert definition.query is definition.query
    elsewhere = replace(definition, time_zone=None, sets_aside=True)
    assert elsewhere.query == replace(question, placement=replace(place, time_zone=None, tolerant=True))
    inside = replace(definition, keys=("counter",), runs_in=definition.placement)
    assert (inside.query, inside.keys) == (definition.query, ("counter",))
