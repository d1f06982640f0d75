"""Prepare: brings records into the form that the stages read: normalised keys, and the columns that Spark computes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DoubleType,
    FloatType,
    MapType,
    StringType,
    StructField,
    StructType,
    VariantType,
)

from skypane.model.columns import DISTINCT, GROUP, ID, KEY_GROUPS, PREFIX
from skypane.model.errors import SchemaError
from skypane.queries.base import Query
from skypane.spark.expressions import with_expressions
from skypane.spark.record_id import record_id
from skypane.spark.schemas import quoted


def with_computed_columns(
    df: DataFrame,
    query: Query,
    keys: tuple[str, ...],
    *,
    with_id: bool | None = None,
    distinct_by: Sequence[str] = (),
) -> DataFrame:
    """The records with the internal columns that Spark computes: key group, record id, expressions."""
    df = with_expressions(df, query.expressions())
    extra: dict[str, Column] = {}
    if query.needs_record_id() if with_id is None else with_id:
        extra[ID] = record_id(df)
        try:
            df.select(extra[ID])
        except AnalysisException as error:
            why = str(error).strip().splitlines()[0]
            raise SchemaError(f"Ties are cut by a hash of the whole record, but Spark cannot hash it: {why}") from error
    if distinct_by:
        extra[DISTINCT] = _id_hash(df, distinct_by)
    if keys:
        # The lowest bits are the remainder, without a division, since the number of groups is a power of two.
        extra[GROUP] = F.xxhash64(*(quoted(key) for key in keys)).bitwiseAND(F.lit(KEY_GROUPS - 1)).cast("int")
    return df.withColumns(extra) if extra else df


def _id_hash(df: DataFrame, columns: Sequence[str]) -> Column:
    """A hash of the values that make a record's id; null if one of them is missing: then it has none."""
    fields = [df.schema[name] for name in columns]
    for field in fields:
        _check_plain("Id column", field, "in distinct_by")
    floating = (DoubleType, FloatType)
    values = [
        _normal(quoted(field.name), field.dataType) if isinstance(field.dataType, floating) else quoted(field.name)
        for field in fields
    ]
    missing = reduce(or_, (value.isNull() for value in values))
    return F.when(~missing, F.xxhash64(*values))


def normalised_keys(df: DataFrame, keys: tuple[str, ...]) -> DataFrame:
    """Like Spark's own GROUP BY, -0.0 and 0.0 are one key, and so is every NaN."""
    fields = [field for field in df.schema.fields if field.name in keys]
    for field in fields:
        _check_plain("Key", field, "as key")
    floating = [field for field in fields if isinstance(field.dataType, DoubleType | FloatType)]
    normal = {f.name: _normal(quoted(f.name), f.dataType) for f in floating}
    return df.withColumns(normal) if normal else df


def _normal(value: Column, kind: DataType) -> Column:
    return F.when(F.isnan(value), F.lit(float("nan")).cast(kind)).otherwise(value + F.lit(0.0).cast(kind))


def _check_plain(what: str, field: StructField, role: str) -> None:
    """Raise :class:`SchemaError` if workers would not compare the column as Spark's GROUP BY does."""
    kind = field.dataType
    if isinstance(kind, ArrayType | MapType | StructType | VariantType):
        raise SchemaError(
            f"{what} {field.name!r} has type {kind.simpleString()}; it must be a plain column. Use its fields {role}."
        )
    if isinstance(kind, StringType) and not kind.isUTF8BinaryCollation():
        raise SchemaError(
            f"{what} {field.name!r} is a {kind.simpleString()}: workers cannot tell which of its values are equal. "
            f"Use a plain string {role}, such as F.lower(F.collate({field.name!r}, 'UTF8_BINARY'))."
        )


def check_reserved(names: Sequence[str]) -> None:
    """Refuse records whose columns would be taken for our own."""
    for name in names:
        if name.lower().startswith(PREFIX):
            raise SchemaError(f"Column {name!r}: names that start with {PREFIX!r} are reserved. Rename it.")
