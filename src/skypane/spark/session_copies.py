"""Session copies: the same records, analysed or planned with settings that the user's session does not have.

The settings of the user's session are not ours to change, not even for a moment: other threads use them, and Spark
keeps some of them with its checkpoints.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame


class SessionCopies:
    """Copies for a query's batches, whose session stays the same: each is made once, since Spark is slow to forget."""

    def __init__(self) -> None:
        self._made: dict[tuple[tuple[str, str], ...], Any] = {}

    def with_settings(self, df: DataFrame, settings: Mapping[str, str]) -> DataFrame:
        """The records of a batch in a session with other settings."""
        key = tuple(sorted(settings.items()))
        if key not in self._made:
            self._made[key] = session_copy(df, settings)
        return in_session(df, self._made[key])


def session_copy(df: DataFrame, settings: Mapping[str, str]) -> Any:
    """A copy of the JVM session of some records, functions and views included, with other settings."""
    copy = df._jdf.sparkSession().cloneSession()  # noqa: SLF001 - Python has no name for it
    for name, value in settings.items():
        copy.conf().set(name, value)
    return copy


def in_session(df: DataFrame, session: Any) -> DataFrame:
    """The same analysed records as a DataFrame of another JVM session."""
    spark = df.sparkSession
    assert spark._jvm is not None  # noqa: SLF001
    dataset = spark._jvm.org.apache.spark.sql.classic.Dataset  # noqa: SLF001
    return DataFrame(dataset.ofRows(session, analysed(df)), spark)


def analysed(df: DataFrame) -> Any:
    """The plan of some records, with every name resolved."""
    return df._jdf.queryExecution().analyzed()  # noqa: SLF001 - Spark says it nowhere else
