"""AsOf: the rows of a Spark DataFrame of intervals that were valid at an instant."""

from __future__ import annotations

from datetime import datetime

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention
from pyspark.sql.types import TimestampNTZType

from skypane.local.as_of import check_intervals, in_zone
from skypane.model.columns import VALID_FROM, VALID_TO


def as_of_dataframe(df: DataFrame, instant: datetime) -> DataFrame:
    """A range filter; Spark hands it on to Parquet files."""
    check_intervals(df.columns)
    zoned = not isinstance(df.schema[VALID_FROM].dataType, TimestampNTZType)
    then = in_zone(instant, zoned=zoned)
    text = then.isoformat(sep=" ")
    at = F.to_timestamp(F.lit(text)) if zoned else F.to_timestamp_ntz(F.lit(text))
    return df.where((F.col(VALID_FROM) <= at) & (F.col(VALID_TO) > at))
