"""Schemas: between Spark's types and Arrow's."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from skypane.model.errors import SchemaError


def session_zone(spark: SparkSession) -> str:
    """The session's time zone, which Spark puts on every timestamp column it hands to Python."""
    return str(spark.conf.get("spark.sql.session.timeZone"))


def arrow_schema(df: DataFrame) -> pa.Schema:
    """The Arrow schema in which workers will see the rows."""
    seen: set[str] = set()
    for name in df.columns:
        if name.lower() in seen:
            raise SchemaError(f"Column {name!r} is there twice. Rename one of them.")
        seen.add(name.lower())
    return to_arrow_schema(df.schema, timezone=session_zone(df.sparkSession))


def spark_schema(schema: pa.Schema) -> StructType:
    """The Spark schema of rows that come from workers."""
    return from_arrow_schema(schema, prefer_timestamp_ntz=True)
