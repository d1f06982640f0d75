"""Generated tables with everything that makes comparing hard, and the oracle of a query over one table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from skypane.model.columns import ID
from skypane.queries.base import Query
from skypane.spark.record_id import record_id

Values = tuple[Any, ...]
INF = float("inf")


@dataclass(frozen=True)
class Kind:
    """A numeric type and values of it that are equal, neighbours, or extreme."""

    type: pa.DataType
    pool: tuple[Any, ...]


DOUBLE = Kind(pa.float64(), (-INF, -1.5, -0.0, 0.0, 5e-324, 1.0, 1.0 + 2**-52, 1e300, INF))
FLOAT = Kind(pa.float32(), (-INF, -0.5, -0.0, 0.0, 1.0, 1.0 + 2**-23, INF))
LONG = Kind(pa.int64(), (-(2**63), -(2**53) - 1, -(2**53), 0, 1, 2**53, 2**53 + 1, 2**53 + 2, 2**63 - 1))
INT = Kind(pa.int32(), (-(2**31), -1, 0, 1, 2, 2**31 - 1))
BYTE = Kind(pa.int8(), (-128, 0, 1, 127))
SHORT_DECIMAL = Kind(pa.decimal128(10, 2), tuple(map(Decimal, ("-1.50", "0.00", "0.01", "0.02", "99999999.99"))))
LONG_DECIMAL = Kind(
    pa.decimal128(38, 10),
    tuple(
        Decimal(text)
        for text in (
            "-1234567890123456789012345678.0000000001",
            "0.0000000000",
            "0.0000000001",
            "1234567890123456789012345678.0000000000",
            "1234567890123456789012345678.0000000001",
        )
    ),
)
KINDS = (DOUBLE, LONG, LONG_DECIMAL, FLOAT, INT, SHORT_DECIMAL, BYTE)


def kinds_of(attributes: int) -> tuple[Kind, ...]:
    """The types of so many attributes: all types in turn."""
    return tuple(KINDS[i % len(KINDS)] for i in range(attributes))


def tables(kinds: Sequence[Kind], max_rows: int = 12) -> st.SearchStrategy[list[Values]]:
    """Random rows; or many copies of a few rows; or close relatives: the last attribute alone differs."""
    row = st.tuples(*(st.sampled_from(kind.pool) for kind in kinds))
    copies = st.lists(row, min_size=1, max_size=3).flatmap(
        lambda few: st.lists(st.sampled_from(few), min_size=1, max_size=max_rows)
    )
    relatives = st.tuples(row, st.lists(st.sampled_from(kinds[-1].pool), max_size=max_rows)).map(
        lambda pair: [(*pair[0][:-1], last) for last in pair[1]]
    )
    return st.one_of(st.lists(row, max_size=max_rows), copies, relatives)


def generated(strategy: st.SearchStrategy[list[Values]], count: int) -> list[list[Values]]:
    """``count`` examples at once, so that one Spark job can judge them all."""
    found: list[list[Values]] = []

    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def keep(example: list[Values]) -> None:
        found.append(example)

    keep()
    return found


def packed(examples: Sequence[list[Values]], kinds: Sequence[Kind]) -> pa.Table:
    """Many tables in one: ``t`` tells them apart, ``row`` tells equal rows apart."""
    rows = [(t, *values) for t, example in enumerate(examples) for values in example]
    columns = list(zip(*rows, strict=True)) if rows else [()] * (len(kinds) + 1)
    arrays = [pa.array(columns[0], pa.int32()), pa.array(range(len(rows)), pa.int64())]
    arrays += [pa.array(column, kind.type) for column, kind in zip(columns[1:], kinds, strict=True)]
    return pa.table(arrays, names=["t", "row", *attribute_names(len(kinds))])


def attribute_names(count: int) -> list[str]:
    return [f"x{i}" for i in range(count)]


def with_oracle_columns(df: DataFrame, query: Query) -> DataFrame:
    """The record id and the query's expressions, which only Spark can compute."""
    expressions = {name: F.expr(expression.sql) for name, expression in query.expressions().items()}
    return df.withColumns({ID: record_id(df), **expressions})


def expected_by_group(df: DataFrame, query: Query, by: Sequence[str]) -> dict[Values, list[str]]:
    """The brute-force answer of every group, in plain Python."""
    groups: dict[Values, list[dict[str, Any]]] = defaultdict(list)
    for row in with_oracle_columns(df, query).toArrow().to_pylist():
        groups[tuple(row[key] for key in by)].append(row)
    return {key: _texts(query.reference(rows)) for key, rows in groups.items()}


def answers_by_group(answer: DataFrame, by: Sequence[str]) -> dict[Values, list[str]]:
    """What Spark answered, in the same form."""
    groups: dict[Values, list[dict[str, Any]]] = defaultdict(list)
    for row in answer.toArrow().to_pylist():
        groups[tuple(row[key] for key in by)].append(row)
    return {key: _texts(rows) for key, rows in groups.items()}


def _texts(rows: Sequence[dict[str, Any]]) -> list[str]:
    return sorted(repr(sorted((k, v) for k, v in row.items() if not k.startswith("__sp_"))) for row in rows)
