"""One table, once: functions from DataFrame to DataFrame.

Spark answers for a Spark DataFrame, lazily. A pandas or polars DataFrame or an Arrow table is answered at once, in
this process, without Spark.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar, cast

from skypane.local.as_of import as_of_frame, parse_instant
from skypane.local.frames import answer_frame
from skypane.model.column_names import column_names
from skypane.model.durations import Duration
from skypane.queries.base import Query
from skypane.queries.preferences import Preferences
from skypane.queries.skyline import Skyline
from skypane.queries.skyline_intervals import SkylineIntervals
from skypane.queries.top_delta import TopDelta
from skypane.queries.top_k import TopK

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Table = TypeVar("Table")
"""A Spark, pandas or polars DataFrame or an Arrow table; the answer is of the same type."""


def skyline(
    df: Table,
    *,
    minimize: Sequence[str] | str | None = (),
    maximize: Sequence[str] | str | None = (),
    by: Sequence[str] | str = (),
    invalid: str = "error",
) -> Table:
    """The rows of ``df`` that no other row (of the same ``by`` columns) dominates; equal rows all stay.

    A row dominates another if it is at least as good in every attribute and better in one. A null or NaN attribute
    is an error unless ``invalid="drop"``. Use it directly or as ``df.transform(sp.skyline, minimize=["price"])``.
    """
    return _answer(df, Skyline(Preferences.of(minimize, maximize)), by, invalid)


def top_delta(
    df: Table,
    delta: int,
    *,
    minimize: Sequence[str] | str | None = (),
    maximize: Sequence[str] | str | None = (),
    by: Sequence[str] | str = (),
    invalid: str = "error",
) -> Table:
    """The ``delta`` skyline rows that are hardest to beat, with ``kmax``: the smaller, the harder.

    ``kmax`` is the largest k such that some other row is no worse on k attributes and better on one of them. Ties are
    cut in the order of (kmax, attributes, a hash of the row), so the answer does not depend on the order of the rows.
    """
    return _answer(df, TopDelta(delta, Preferences.of(minimize, maximize)), by, invalid)


def top_k(df: Table, k: int, *, score: str, by: Sequence[str] | str = (), invalid: str = "error") -> Table:
    """The ``k`` rows with the largest ``score``; ties are cut by a hash of the row.

    The score is any Spark SQL expression, or the name of a column where Spark is not asked.
    """
    return _answer(df, TopK(k, score), by, invalid)


def skyline_intervals(
    df: Table,
    *,
    time: str,
    within: Duration,
    minimize: Sequence[str] | str | None = (),
    maximize: Sequence[str] | str | None = (),
    by: Sequence[str] | str = (),
    invalid: str = "error",
) -> Table:
    """When each row was in the skyline of the rows of the last ``within``, with ``valid_from`` and ``valid_to``.

    The history of ``sp.stream(...).live(within).skyline(...)``, at once: a row is live from its ``time`` on, and rows
    that were never in the skyline are left out. Intervals are half open; :func:`as_of` reads them.
    """
    return _answer(df, SkylineIntervals.of(time, within, Preferences.of(minimize, maximize)), by, invalid)


def as_of(df: Table, instant: datetime | str) -> Table:
    """The rows of a table of intervals (``emit="intervals"``, :func:`skyline_intervals`) that were valid at an instant.

    The instant is a ``datetime`` or a text such as ``"2026-01-01 14:03:07.2"``; without a time zone it is meant as the
    table shows its times: in the zone of the column, of Spark's session, or as it stands where there is none. Of a
    running query the table has the records that have left so far, so it is complete up to a life before the last whole
    pane that the watermark has passed.
    """
    if is_spark(df):
        from skypane.spark.as_of import as_of_dataframe  # noqa: PLC0415 - the other tables need no Spark

        return cast("Table", as_of_dataframe(cast("DataFrame", df), parse_instant(instant)))
    return cast("Table", as_of_frame(df, parse_instant(instant)))


def is_spark(df: object) -> bool:
    """Whether Spark is to be asked."""
    return type(df).__module__.split(".")[0] == "pyspark"


def _answer(df: Table, query: Query, by: Sequence[str] | str, invalid: str) -> Table:
    keys = column_names(by, "by")
    if is_spark(df):
        # Only now: the other tables need no Spark.
        from skypane.spark.table import answer_once  # noqa: PLC0415

        return cast("Table", answer_once(cast("DataFrame", df), query, keys, invalid))
    return cast("Table", answer_frame(df, query, keys, invalid))
