"""Key groups follow from values alone, not from chunks, offsets or widths (as on Spark: spark/test_prepare.py)."""

from __future__ import annotations

from datetime import date, datetime, timezone
from typing import Any

import pyarrow as pa
import pytest

from skypane.model.columns import KEY_GROUPS
from skypane.tables.key_groups import can_group, key_groups

TEXTS = ["ulm", "", None, "bonn", "é", "a text of more than thirty-two bytes, which are hashed in stripes", "ulm"]
NUMBERS = [0, 1, None, -1, 127, -128, 0]
SPARK_SEED = 42
"""The hash of no column at all, and so of a null."""


def groups(*columns: pa.ChunkedArray | pa.Array) -> list[int]:
    names = [f"k{i}" for i in range(len(columns))]
    found: list[int] = key_groups(pa.table(dict(zip(names, columns, strict=True))), names).to_pylist()
    return found


@pytest.mark.parametrize(("values", "kind"), [(TEXTS, pa.string()), (TEXTS, pa.large_string()), (NUMBERS, pa.int64())])
def test_chunks_and_offsets_change_no_group(values: list[Any], kind: pa.DataType) -> None:
    whole = pa.array(values, kind)
    pieces = pa.chunked_array([whole[:1], whole[1:1], whole[1:4], whole[4:]], kind)
    assert groups(pieces) == groups(whole)
    assert groups(pieces, pieces.slice(0)) == groups(whole, whole)
    assert groups(whole[2:5]) == groups(whole)[2:5]
    assert groups(pa.chunked_array([], kind)) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (pa.array(TEXTS, pa.string()), pa.array(TEXTS, pa.large_string())),
        (pa.array(TEXTS, pa.string()), pa.array(TEXTS, pa.string()).cast(pa.binary())),
        (pa.array(NUMBERS, pa.int8()), pa.array(NUMBERS, pa.int16())),
        (pa.array(NUMBERS, pa.int8()), pa.array(NUMBERS, pa.int32())),
        (pa.array([date(1970, 1, 2), None, date(1969, 12, 31)]), pa.array([1, None, -1], pa.int32())),
        (
            pa.array([datetime(1970, 1, 1, 0, 0, 1, tzinfo=timezone.utc), None], pa.timestamp("us", "UTC")),
            pa.array([1_000_000, None], pa.int64()),
        ),
    ],
    ids=lambda array: str(array.type),
)
def test_equal_values_of_related_types_have_equal_groups(one: pa.Array, other: pa.Array) -> None:
    assert can_group(one.type)
    assert can_group(other.type)
    assert groups(one) == groups(other)


def test_nulls_and_no_key_leave_the_seed() -> None:
    nulls = pa.nulls(2, pa.string())
    assert groups(nulls) == groups(nulls, pa.nulls(2, pa.int64())) == [SPARK_SEED % KEY_GROUPS] * 2
    assert key_groups(pa.table({"x": [1, 2]}), []).to_pylist() == [SPARK_SEED % KEY_GROUPS] * 2


def test_texts_without_a_letter_have_a_group() -> None:
    assert len(set(groups(pa.array(["", ""], pa.string())))) == 1


def test_groups_are_spread_over_all_there_are() -> None:
    assert set(groups(pa.array([f"key {n}" for n in range(2_000)]))) == set(range(KEY_GROUPS))


def test_other_types_are_left_to_spark() -> None:
    assert not any(can_group(kind) for kind in (pa.float64(), pa.decimal128(10, 2), pa.list_(pa.int64())))
