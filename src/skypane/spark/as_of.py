"""AsOf: the rows of a Spark DataFrame of intervals that were valid at an instant."""

from __future__ import annotations

from datetime import datetime, timezone

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention
from pyspark.sql.types import TimestampNTZType, TimestampType

from skypane.local.as_of import check_intervals
from skypane.model.columns import VALID_FROM, VALID_TO
from skypane.model.errors import SchemaError


def as_of_dataframe(df: DataFrame, instant: datetime) -> DataFrame:
    """A range filter; Spark hands it on to Parquet files."""
    check_intervals(df.columns)
    for name in (VALID_FROM, VALID_TO):
        if not isinstance(kind := df.schema[name].dataType, TimestampType | TimestampNTZType):
            raise SchemaError(f"Column {name!r} has type {kind.simpleString()}; it must be a timestamp.")
    zoned = not isinstance(df.schema[VALID_FROM].dataType, TimestampNTZType)
    if instant.tzinfo is not None:
        instant = instant.astimezone(timezone.utc) if zoned else instant.astimezone(timezone.utc).replace(tzinfo=None)
    # Without a zone Spark takes the session's, in which it shows the table.
    text = instant.isoformat(sep=" ")
    # Its type is named: what F.to_timestamp gives depends on spark.sql.timestampType.
    at = F.to_timestamp_ltz(F.lit(text)) if zoned else F.to_timestamp_ntz(F.lit(text))
    return df.where((F.col(VALID_FROM) <= at) & (F.col(VALID_TO) > at))
