"""Types made up at random, decimals of every scale among them: answers are those of Spark SQL, or the type is refused.

What is refused: test_prepare.py. A catalogue of types with their extremes: test_same_as_spark.py.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

import skypane as sp
from skypane.local.preparation import prepare
from skypane.model.errors import SchemaError
from skypane.model.groups import Groups
from skypane.queries.aggregates import Aggregates, Output
from skypane.spark.schemas import local_dataframe
from skypane.tables.grouping import key_codes, sort_by
from skypane.tables.take import take_rows
from tests.support.spark.streams import WAIT_S
from tests.support.spark.values import equal, plain_rows

pytestmark = pytest.mark.spark

ROWS = 240
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
SPARKS_OWN = {"sum": "try_sum", "mean": "try_avg", "stddev": "stddev_samp"}
"""Which are null where a result does not fit."""
COLLATIONS = ("UTF8_LCASE", "UNICODE", "UNICODE_CI", "UTF8_BINARY_RTRIM")


class Generated(NamedTuple):
    """A type, and values of it."""

    kind: pa.DataType
    value: Callable[[], Any]


def decimal_of(rng: random.Random, scale: int) -> Generated:
    """Of some precision; with more than 28 digits of one sign, as Spark's sums may overflow on the way otherwise."""
    precision = rng.randint(max(scale, 1), 38)
    sign = rng.choice([1, -1])

    def value() -> Decimal:
        digits = rng.randint(1, precision)
        unscaled = rng.randint(0, 10**digits - 1) * (sign if precision > 28 else rng.choice([1, -1]))
        return Decimal(unscaled).scaleb(0) if scale == 0 else Decimal((unscaled < 0, _digits(unscaled), -scale))

    return Generated(pa.decimal128(precision, scale), value)


def _digits(unscaled: int) -> tuple[int, ...]:
    return tuple(int(digit) for digit in str(abs(unscaled)))


def plain(rng: random.Random) -> Generated:
    """Any type without parts."""
    bits = rng.choice([8, 16, 32, 64])
    most = 2 ** (bits - 1)
    texts = ["", " ", "a", "A", "a ", "ä", "Ä", "\U0001f600", "z\x00"]
    pause = [timedelta(0), timedelta(microseconds=-1), timedelta(days=400, microseconds=3)]
    when = [EPOCH + timedelta(seconds=rng.randint(-(10**9), 10**9), microseconds=rng.randint(0, 999_999))] * 3
    return rng.choice(
        [
            Generated(getattr(pa, f"int{bits}")(), lambda: rng.choice([0, 1, most // 64, rng.randint(0, most // 64)])),
            decimal_of(rng, rng.randint(0, 38)),
            Generated(pa.float32(), lambda: rng.choice([-0.0, 0.0, 0.5, -1.25, float("inf"), float("nan")])),
            Generated(pa.float64(), lambda: rng.choice([-0.0, 0.0, 0.1, 1e15, rng.random(), float("nan")])),
            Generated(pa.bool_(), lambda: rng.random() < 0.5),
            Generated(pa.string(), lambda: rng.choice(texts)),
            Generated(pa.binary(), lambda: rng.choice([b"", b"\x00", b"\xff", b"ab"])),
            Generated(pa.date32(), lambda: date(1970, 1, 1) + timedelta(days=rng.randint(-700_000, 2_900_000))),
            Generated(pa.timestamp("us", "UTC"), lambda: rng.choice([*when, EPOCH, EPOCH - timedelta(microseconds=1)])),
            Generated(pa.timestamp("us"), lambda: rng.choice(when).replace(tzinfo=None)),
            Generated(pa.duration("us"), lambda: rng.choice(pause)),
        ]
    )


def nested(rng: random.Random, depth: int) -> Generated:
    """A structure, an array or a map of other types, which may be nested again; any part may be null but map keys."""
    if not depth:
        return plain(rng)
    inner = nested(rng, depth - rng.choice([1, depth]))
    other = nested(rng, 0)

    def maybe(one: Generated) -> Any:
        return None if rng.random() < 0.2 else one.value()

    fields = [pa.field("in", inner.kind), pa.field("O ther", other.kind)]
    entries = pa.map_(pa.string(), inner.kind)
    return rng.choice(
        [
            Generated(pa.struct(fields), lambda: {"in": maybe(inner), "O ther": maybe(other)}),
            Generated(pa.list_(inner.kind), lambda: [maybe(inner) for _ in range(rng.randint(0, 3))]),
            Generated(entries, lambda: [(key, maybe(inner)) for key in rng.sample(["", "a", "A"], rng.randint(0, 3))]),
        ]
    )


def columns_of(rng: random.Random, types: dict[str, Generated]) -> pa.Table:
    """Records with nulls everywhere."""
    columns = {
        "ts": pa.array([rng.randrange(4_000_000) for _ in range(ROWS)], pa.timestamp("us", "UTC")),
        "n": pa.array(range(ROWS), pa.int64()),
        "who": pa.array([rng.choice(["x", "y", "z", None]) for _ in range(ROWS)]),
    }
    for name, one in types.items():
        columns[name] = pa.array([None if rng.random() < 0.3 else one.value() for _ in range(ROWS)], one.kind)
    return pa.table(columns)


def allowed(types: dict[str, Generated]) -> dict[str, str]:
    """Every function of every column that it takes; that it is refused otherwise says the name."""
    outputs: dict[str, str] = {}
    for name, one in types.items():
        for function in ("count", "min", "max", "sum", "mean", "stddev"):
            if takes(function, one.kind, f"{function}_{name}"):
                outputs[f"{function}_{name}"] = f"{function}({name})"
    return outputs


def takes(function: str, kind: pa.DataType, name: str) -> bool:
    try:
        Output.parse(name, f"{function}(x)").accumulator.check(kind, name)
    except SchemaError as error:
        assert name in str(error)
        return False
    return True


def answer(query: Aggregates, rows: pa.Table, rng: random.Random) -> pa.Table:
    """The aggregates by key, from partials of some pieces of the records."""
    table = prepare(query, ("who",), rows)
    cuts = sorted(rng.randrange(ROWS) for _ in range(3))
    pieces = [table.slice(low, high - low) for low, high in zip([0, *cuts], [*cuts, ROWS], strict=True)]
    partials = pa.concat_tables([_grouped(piece, query.lift) for piece in pieces if piece.num_rows])
    return _grouped(_grouped(partials, query.combine), query.lower)


def _grouped(table: pa.Table, step: Callable[[pa.Table, Groups], Any]) -> pa.Table:
    order = sort_by(key_codes(table, ["who"]), np.zeros(table.num_rows, dtype=np.int64))
    rows = take_rows(table, order.rows)
    done = step(rows, order.groups)
    firsts = rows.column("who").take(pa.array(order.groups.offsets[:-1]))
    return done.table.append_column("who", firsts)


@pytest.mark.parametrize("seed", range(2))
def test_aggregates_of_any_type_are_those_of_spark(spark: SparkSession, seed: int) -> None:
    rng = random.Random(f"types {seed}")
    types = {f"d{scale}": decimal_of(rng, scale) for scale in range(39)}
    types |= {f"c{index}": plain(rng) for index in range(12)}
    outputs, rows = allowed(types), columns_of(rng, types)
    ours = {row["who"]: row for row in plain_rows(answer(Aggregates.of(outputs), rows, rng))}
    own = []
    for name, text in outputs.items():
        function, _, argument = text.partition("(")
        own.append(F.expr(f"{SPARKS_OWN.get(function, function)}({argument}").alias(name))
    theirs = {row["who"]: row for row in plain_rows(local_dataframe(spark, rows).groupBy("who").agg(*own).toArrow())}
    assert ours.keys() == theirs.keys()
    different = [
        (who, name, str(types[name.partition("_")[2]].kind), ours[who][name], row[name])
        for who, row in theirs.items()
        for name, text in outputs.items()
        if not equal(ours[who][name], row[name], exact=text.startswith(("count", "min", "max")))
    ]
    assert different == []


def as_text(df: DataFrame) -> list[str]:
    """Rows in a form that tells everything apart, also where Python has no such values."""
    return sorted(
        row.json for row in df.select(F.to_json(F.struct("*"), {"ignoreNullFields": "false"}).alias("json")).collect()
    )


@pytest.mark.parametrize("seed", range(2))
def test_any_payload_comes_through_a_stream_as_it_was(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    rng = random.Random(f"payload {seed}")
    types = {f"p{index}": nested(rng, index % 4) for index in range(16)}
    rows = local_dataframe(spark, columns_of(rng, types))
    folded = f"collate(who, '{rng.choice(COLLATIONS)}')"
    arrow_has_no_such_types = {
        "folded": folded,
        "many": f"array(named_struct('in', {folded}, 'n', n))",
        "minutes": "cast(timestamp_micros(n) - timestamp_micros(0) AS interval hour to minute)",
    }
    rows = rows.withColumns({name: F.expr(text) for name, text in arrow_has_no_such_types.items()})
    rows.coalesce(1).write.parquet(str(tmp_path / "in"))
    stream = spark.readStream.schema(rows.schema).parquet(str(tmp_path / "in"))
    question = sp.stream(stream, time="ts", key="who").window("1 second").top_k(ROWS, score="n")
    late = sp.MemorySink(f"late_payload_{seed}")
    running = question.start(sink=sp.ParquetSink(tmp_path / "out"), late=late, available_now=True, flush=True)
    assert running.await_termination(WAIT_S)
    assert running.metrics().ledger.accepted == ROWS
    found = spark.read.parquet(str(tmp_path / "out")).select(*rows.columns)
    for one in (found, spark.table(late.name)):
        kinds = {field.name: field.dataType.simpleString() for field in one.schema}
        assert {name: kinds[name] for name in rows.columns} == {f.name: f.dataType.simpleString() for f in rows.schema}
    assert as_text(found) == as_text(rows)
