"""One table, once: functions from DataFrame to DataFrame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from skypane.queries.base import Query
from skypane.queries.preferences import Preferences
from skypane.queries.skyline import Skyline
from skypane.queries.top_delta import TopDelta
from skypane.queries.top_k import TopK
from skypane.spark.table import answer_once

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def skyline(
    df: DataFrame,
    *,
    minimize: Sequence[str] | str = (),
    maximize: Sequence[str] | str = (),
    by: Sequence[str] | str = (),
    invalid: str = "error",
) -> DataFrame:
    """The rows of ``df`` that no other row (of the same ``by`` columns) dominates; equal rows all stay.

    A row dominates another if it is at least as good in every attribute and better in one. A null or NaN attribute
    is an error unless ``invalid="drop"``. Use it directly or as ``df.transform(sp.skyline, minimize=["price"])``.
    """
    return _answer(df, Skyline(Preferences.of(minimize, maximize)), by, invalid)


def top_delta(
    df: DataFrame,
    delta: int,
    *,
    minimize: Sequence[str] | str = (),
    maximize: Sequence[str] | str = (),
    by: Sequence[str] | str = (),
    invalid: str = "error",
) -> DataFrame:
    """The ``delta`` skyline rows that are hardest to beat, with ``kmax``: the smaller, the harder.

    ``kmax`` is the largest k such that some other row is no worse on k attributes and better on one of them. Ties are
    cut in the order of (kmax, attributes, a hash of the row), so the answer does not depend on the order of the rows.
    """
    return _answer(df, TopDelta(delta, Preferences.of(minimize, maximize)), by, invalid)


def top_k(df: DataFrame, k: int, *, score: str, by: Sequence[str] | str = (), invalid: str = "error") -> DataFrame:
    """The ``k`` rows with the largest ``score``, any Spark SQL expression; ties are cut by a hash of the row."""
    return _answer(df, TopK(k, score), by, invalid)


def _answer(df: DataFrame, query: Query, by: Sequence[str] | str, invalid: str) -> DataFrame:
    return answer_once(df, query, (by,) if isinstance(by, str) else tuple(by), invalid)
