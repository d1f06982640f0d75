"""Records: whether a DataFrame can be asked at all, and which of its columns a name stands for."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamReader

from skypane.model.column_names import ColumnNames
from skypane.model.errors import OptionError, SkypaneError
from skypane.spark.prepare import check_reserved
from skypane.spark.schemas import arrow_schema

_ONE_TABLE = (
    "For one table, once, use sp.skyline(df, ...), sp.top_delta(df, ...), sp.top_k(df, ...) or "
    "sp.skyline_intervals(df, ...)."
)


def check_streaming(df: object) -> None:
    """Refuse what is not a streaming DataFrame of a session that is there."""
    needed = "sp.stream(df) needs a streaming DataFrame (spark.readStream...)"
    if isinstance(df, DataStreamReader):
        raise OptionError(f"{needed}, not its reader. Call .load() first: spark.readStream.format(...).load().")
    if isinstance(df, SparkSession) or not isinstance(df, DataFrame):
        kind = f"{type(df).__module__.split('.')[0]}.{type(df).__name__}"
        raise OptionError(f"{needed}, not a {kind}. {_ONE_TABLE}")
    check_session(df)
    if not df.isStreaming:
        raise OptionError(f"{needed}; this one is read once. {_ONE_TABLE}")


def check_session(df: DataFrame) -> None:
    """Refuse a DataFrame whose session cannot run anything from this process."""
    if type(df).__module__.startswith("pyspark.sql.connect"):
        raise OptionError(
            "The DataFrame is one of Spark Connect, whose session is in another process. Use a session of this one: "
            "sp.embedded_session(), or SparkSession.builder without remote()."
        )
    if df.sparkSession.sparkContext._jsc is None:  # noqa: SLF001 - there is no public way
        raise SkypaneError(
            "The Spark session of this DataFrame was stopped. Start another session, and read the records with it."
        )


def records_of(df: DataFrame) -> pa.Schema:
    """The columns of the records as workers see them; what they could not see, and names of our own, are refused."""
    schema = arrow_schema(df)
    check_reserved(schema.names)
    return schema


def column_names_of(df: DataFrame) -> ColumnNames:
    """The columns, as Spark tells them apart."""
    return ColumnNames(tuple(df.columns), str(df.sparkSession.conf.get("spark.sql.caseSensitive")).lower() == "true")
