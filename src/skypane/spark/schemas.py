"""Schemas: between Spark's types and Arrow's."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterator, Mapping

import pyarrow as pa
from pyspark.errors import PySparkException, PySparkTypeError
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention
from pyspark.sql.pandas.types import from_arrow_schema, from_arrow_type, to_arrow_schema, to_arrow_type
from pyspark.sql.types import DataType, StructField, StructType

from skypane.model.ddl import SchemaLike, as_schema
from skypane.model.errors import OptionError, SchemaError
from skypane.model.zones import arrow_zone

_OWN_TYPE = b"skypane.type"
_RECORDS = "spark.sql.execution.arrow.maxRecordsPerBatch"
_ZONE = "spark.sql.session.timeZone"


def session_zone(spark: SparkSession) -> str:
    """The session's time zone, which Spark puts on every timestamp column it hands to Python, as Arrow calls it."""
    name = str(spark.conf.get(_ZONE))
    if (zone := arrow_zone(name)) is None:
        raise OptionError(
            f"{_ZONE} is {name!r}: Arrow, in which Spark hands records to Python, has no offsets with seconds. Set a "
            f"zone or an offset in minutes, e.g. spark.conf.set({_ZONE!r}, 'UTC')."
        )
    return zone


def arrow_schema(df: DataFrame) -> pa.Schema:
    """The Arrow schema in which workers will see the rows."""
    seen: set[str] = set()
    for name in df.columns:
        if name.lower() in seen:
            raise SchemaError(f"Column {name!r} is there twice. Rename one of them.")
        seen.add(name.lower())
    for field in df.schema.fields:
        if not has_arrow_type(field.dataType):
            raise SchemaError(
                f"Column {field.name!r} has type {field.dataType.simpleString()}, which Spark cannot hand to Python. "
                "Cast it to a number or a string, or drop it."
            )
    schema = to_arrow_schema(df.schema, timezone=session_zone(df.sparkSession))
    return pa.schema([_with_own_type(field, own) for field, own in zip(schema, df.schema.fields, strict=True)])


def _with_own_type(field: pa.Field, own: StructField) -> pa.Field:
    """The field, with a note of what Arrow's type does not say: a collation, the units of an interval."""
    if from_arrow_type(field.type) == own.dataType:
        return field
    note = StructField(own.name, own.dataType).json().encode()
    return field.with_metadata({**(field.metadata or {}), _OWN_TYPE: note})


def with_own_types(schema: pa.Schema, records: pa.Schema, names: Container[str]) -> pa.Schema:
    """The schema, with the notes that the records have of columns with these names."""
    noted = {field.name: field.metadata for field in records if field.name in names and field.metadata}
    return pa.schema([field.with_metadata(noted.get(field.name, field.metadata)) for field in schema])


def has_arrow_type(kind: DataType) -> bool:
    """Whether Spark can hand values of the type to Python workers; it cannot with year-month intervals."""
    try:
        to_arrow_type(kind, timezone="UTC")
    except PySparkTypeError:
        return False
    return True


def spark_schema(schema: pa.Schema) -> StructType:
    """The Spark schema of rows that come from workers."""
    fields = from_arrow_schema(schema, prefer_timestamp_ntz=True).fields
    return StructType([_own(field, arrow.metadata or {}) for field, arrow in zip(fields, schema, strict=True)])


def _own(field: StructField, notes: Mapping[bytes, bytes]) -> StructField:
    if _OWN_TYPE not in notes:
        return field
    noted = StructField.fromJson(json.loads(notes[_OWN_TYPE]))
    return StructField(field.name, noted.dataType, field.nullable, field.metadata)


def checked_schema(schema: SchemaLike, what: str) -> pa.Schema:
    """The columns that a function promises; a type that Spark does not have is refused by name."""
    columns = as_schema(schema, what)
    for field in columns:
        _check_type(field, what)
    return columns


def _check_type(field: pa.Field, what: str) -> None:
    try:
        spark_schema(pa.schema([field]))
    except PySparkException as error:
        raise OptionError(f"{what}: Spark has no type for column {field.name!r} of type {field.type}.") from error
    if not _in_microseconds(field.type):
        raise OptionError(
            f"{what}: column {field.name!r} has type {field.type}; Spark's times are in microseconds. Cast it to "
            "timestamp('us')."
        )


def _in_microseconds(kind: pa.DataType) -> bool:
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return bool(kind.unit == "us")
    return all(_in_microseconds(kind.field(index).type) for index in range(kind.num_fields))


def takes_arrow(spark: SparkSession) -> bool:
    """Whether PySpark can make a DataFrame of an Arrow table: not where batches may have any number of records."""
    return int(spark.conf.get(_RECORDS) or 0) > 0


def local_dataframe(spark: SparkSession, table: pa.Table) -> DataFrame:
    """A table on the driver as a DataFrame."""
    if not takes_arrow(spark):
        raise OptionError(
            f"{_RECORDS} is {spark.conf.get(_RECORDS)}: without a limit PySpark cannot make a DataFrame of rows on the "
            f"driver. Set one, e.g. spark.conf.set({_RECORDS!r}, 10000)."
        )
    # In one piece: PySpark takes an empty piece for the end of the table and loses what comes after it.
    return spark.createDataFrame(table.combine_chunks(), schema=spark_schema(table.schema))


Batches = Iterator[pa.RecordBatch]


def map_in_arrow(df: DataFrame, function: Callable[[Batches], Batches], schema: StructType | str) -> DataFrame:
    """Spark's ``mapInArrow``, which takes a dot or a backtick in a column name for syntax, without that trap."""
    names = df.columns
    if not any(sign in name for name in names for sign in ".`"):
        return df.mapInArrow(function, schema)

    def renamed(batches: Batches) -> Batches:
        return function(batch.rename_columns(names) for batch in batches)

    return df.toDF(*(f"_{index}" for index in range(len(names)))).mapInArrow(renamed, schema)


def quoted(name: str) -> Column:
    """The column with exactly this name, dots and backticks included."""
    return F.col(sql_name(name))


def sql_name(name: str) -> str:
    """The SQL name of a type."""
    return "`" + name.replace("`", "``") + "`"
