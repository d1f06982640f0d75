"""Answers that do not depend on the order of records, and names that results cannot have."""

from __future__ import annotations

import re
import struct
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from skypane.local.preparation import prepare
from skypane.model.columns import GROUP, ID
from skypane.model.errors import OptionError, SchemaError
from skypane.model.groups import Groups
from skypane.queries.accumulators.base import Accumulator, Inputs
from skypane.queries.accumulators.functions import call
from skypane.queries.aggregates import Aggregates
from skypane.queries.base import Query
from skypane.queries.preferences import Preferences
from skypane.queries.top_delta import TopDelta
from skypane.queries.top_k import TopK
from skypane.tables.grouping import key_codes


def accumulator(function: str) -> Accumulator:
    return call(function, "x", function).accumulator


ODD_NAN = struct.unpack("<d", struct.pack("<Q", 0xFFF8_0000_0000_0001))[0]


@pytest.mark.parametrize("name", ["revision", "change", "Window", "REVISION", "__SP_x"])
def test_an_aggregate_cannot_have_the_name_of_a_result_column(name: str) -> None:
    with pytest.raises(OptionError, match=f"cannot be called {name!r}"):
        Aggregates.of({name: "count"})


@pytest.mark.parametrize("function", ["sum", "mean", "variance", "stddev"])
def test_numbers_are_aggregated_and_texts_are_refused(function: str) -> None:
    for kind in (pa.int32(), pa.float64(), pa.decimal128(9, 2)):
        accumulator(function).check(kind, "x")
    for kind in (pa.string(), pa.bool_(), pa.timestamp("us")):
        with pytest.raises(SchemaError, match=re.escape(f"x={function}(...) needs numbers, not {kind}")):
            accumulator(function).check(kind, "x")


def test_aggregates_that_differ_only_in_case_are_refused() -> None:
    with pytest.raises(OptionError, match="'n' and 'N': Spark cannot tell the names apart"):
        Aggregates.of({"n": "count", "N": "sum(i)"})


@pytest.mark.parametrize("query", [TopK(1, "s"), TopDelta(1, Preferences.of("s", ()))], ids=["top_k", "top_delta"])
@pytest.mark.parametrize(
    "records",
    [
        [{"s": 1, "a": "x", "b": None}, {"s": 1, "a": None, "b": "x"}],
        [{"s": 1, "a": 0.0}, {"s": 1, "a": -0.0}],
        [{"s": 1, "a": [1, 2], "b": [3]}, {"s": 1, "a": [1], "b": [2, 3]}],
        [{"s": 1, "a": None}, {"s": 1, "a": "None"}],
    ],
    ids=["nulls", "zeros", "arrays", "text of null"],
)
def test_ties_are_cut_the_same_whatever_the_order(query: Query, records: list[dict[str, Any]]) -> None:
    answers = []
    for rows in (records, records[::-1]):
        table = prepare(query, (), pa.Table.from_pylist(rows))
        lifted = query.lift(table, Groups.whole(table.num_rows))
        answers.append(repr(query.lower(*lifted).table.select(["s", "a"]).to_pylist()))
    assert answers[0] == answers[1]


@pytest.mark.parametrize(("function", "wanted"), [("min", "-0.0"), ("max", "0.0")])
def test_extremes_choose_the_same_zero_whatever_the_order(function: str, wanted: str) -> None:
    for values in ([0.0, -0.0], [-0.0, 0.0], [-0.0, None, 0.0]):
        found = accumulator(function).lift(Inputs(pa.chunked_array([values])), Groups.whole(len(values)))
        assert repr(found["x"].to_pylist()) == f"[{wanted}]"
    alone = accumulator(function).lift(Inputs(pa.chunked_array([[-0.0]])), Groups.whole(1))
    assert repr(alone["x"].to_pylist()) == "[-0.0]"


def test_sums_of_decimals_neither_wrap_around_nor_lose_digits_on_the_way() -> None:
    most = Decimal("9" * 38)
    least = most.copy_negate()
    sums = accumulator("sum")
    values = pa.chunked_array([pa.array([most, most, least, most, most, most, None], pa.decimal128(38, 0))])
    parts = sums.lift(Inputs(values), Groups.from_sizes([3, 3, 1]))
    assert _lowered("sum", parts) == [most, None, None]
    # The second group does not fit, but its partial is exact: with what comes later it fits again.
    more = sums.lift(Inputs(pa.chunked_array([pa.array([least, least], pa.decimal128(38, 0))])), Groups.whole(2))
    both = pa.chunked_array([parts["s"].slice(1, 1), more["s"]])
    assert _lowered("sum", sums.combine({"s": both}, Groups.whole(2))) == [most]


def _lowered(function: str, parts: dict[str, pa.Array]) -> list[Any]:
    return list(
        accumulator(function).lower({name: pa.chunked_array([part]) for name, part in parts.items()}).to_pylist()
    )


def test_zeros_and_every_nan_are_one_key() -> None:
    table = pa.table({"k": pa.array(np.array([0.0, -0.0, np.nan, ODD_NAN, 1.0]))})
    codes = key_codes(table, ["k"]).tolist()
    assert codes[0] == codes[1]
    assert codes[2] == codes[3]
    assert len(set(codes)) == 3
    groups = prepare(Aggregates.of({"n": "count"}), ["k"], table).column(GROUP).to_pylist()
    assert groups[0] == groups[1]
    assert groups[2] == groups[3]


def test_records_beyond_the_years_of_python_have_ids() -> None:
    far = pa.table({"s": [1, 1], "t": pa.array([2**61, 2**61 + 1], pa.timestamp("us", "UTC"))})
    far = far.append_column("d", pa.array([5_000_000, 5_000_000], pa.int32()).cast(pa.date32()))
    assert len(set(prepare(TopK(1, "s"), (), far).column(ID).to_pylist())) == 2
