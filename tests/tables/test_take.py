"""Rows are taken as Arrow takes them, in pieces that are small enough, from any types and any chunks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skypane.tables import take
from skypane.tables.take import take_rows

texts = st.none() | st.text("ab", max_size=6)
KINDS = {
    "n": (pa.int64(), st.none() | st.integers(0, 9)),
    "flag": (pa.bool_(), st.none() | st.booleans()),
    "text": (pa.string(), texts),
    "raw": (pa.binary(), st.none() | st.binary(max_size=6)),
    "wide": (pa.large_string(), texts),
    "list": (pa.list_(pa.string()), st.none() | st.lists(texts, max_size=3)),
    "deep": (pa.list_(pa.list_(pa.string())), st.none() | st.lists(st.lists(texts, max_size=2), max_size=2)),
    "struct": (
        pa.struct([("a", pa.string()), ("b", pa.list_(pa.int8()))]),
        st.none() | st.fixed_dictionaries({"a": texts, "b": st.none() | st.lists(st.integers(0, 9), max_size=2)}),
    ),
    "map": (
        pa.map_(pa.string(), pa.string()),
        st.none() | st.lists(st.tuples(st.text("ab", min_size=1, max_size=4), texts), max_size=2),
    ),
    "money": (pa.decimal128(10, 2), st.none() | st.decimals(0, 99, places=2)),
    "zero": (pa.binary(3), st.none() | st.binary(min_size=3, max_size=3)),
}
SCHEMA = pa.schema([(name, kind) for name, (kind, _) in KINDS.items()])
row = st.fixed_dictionaries({name: values for name, (_, values) in KINDS.items()})


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    """A few chunks, some of them slices of others."""
    chunks = draw(st.lists(st.lists(row, max_size=5), min_size=1, max_size=4))
    parts = [pa.Table.from_pylist(rows, SCHEMA) for rows in chunks]
    return pa.concat_tables([part.slice(draw(st.integers(0, 2))) for part in parts])


@pytest.fixture(autouse=True, scope="module")
def _tiny_pieces() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(take, "PIECE_BYTES", 20)
        yield


@settings(max_examples=80, deadline=None)
@given(table=tables(), data=st.data())
def test_taken_in_pieces_as_in_one(table: pa.Table, data: Any) -> None:
    numbers = st.integers(0, max(table.num_rows - 1, 0))
    rows = np.array(data.draw(st.lists(numbers, max_size=20 if table.num_rows else 0)), dtype=np.int64)
    taken, expected = take_rows(table, rows), table.to_pylist()
    assert taken.schema == table.schema
    assert taken.to_pylist() == [expected[number] for number in rows]
    for chunk in (c for name in ("text", "raw") for c in taken.column(name).chunks):
        assert sum(len(value or "") for value in chunk.to_pylist()) <= 20


def test_what_fits_is_taken_at_once() -> None:
    table = pa.table({"text": ["a", "b"]})
    assert take_rows(table, np.array([1, 0, 1])).column("text").num_chunks == 1
    assert take_rows(table, np.zeros(0, dtype=np.int64)).num_rows == 0
