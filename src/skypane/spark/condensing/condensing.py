"""Condensing: Spark aggregates records that are certainly accepted before it sends anything to Python.

Moving a record to a Python process costs several times what Spark takes to count it. Records about which something is
to be decided - late ones, those without a time, those that may be too far ahead - are sent as they are, in the same
pass: their columns are part of what is grouped by, and null for all others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from skypane.flow.definition import Definition
from skypane.flow.panes.admission import Frontier
from skypane.flow.panes.condensed import CondensedRows
from skypane.model.columns import GROUP, PANE, PREFIX
from skypane.spark.condensing.certain_range import CertainRange, certain_range
from skypane.spark.jobs.sending import Sending
from skypane.spark.schemas import sql_name
from skypane.spark.session_copies import SessionCopies
from skypane.tables.take import take_rows

_RECORDS, _OLDEST, _NEWEST = (f"{PREFIX}{name}" for name in ("records", "oldest", "newest"))
_SETTINGS: Final = {
    # Spark would look at how much there is, and then start another job for the rest.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.retainGroupColumns": "true",
    # A quoted name is that of a column, not a pattern that some match, nor a text with variables in it.
    "spark.sql.parser.quotedRegexColumnNames": "false",
    "spark.sql.variable.substitute": "false",
    # A function is Spark's, not one of the user's that has the same name.
    "spark.sql.functionResolution.sessionOrder": "second",
}
"""What else the session says of these is meant for the user's own SQL."""


@dataclass(frozen=True)
class Condensing:
    """Travels to the workers."""

    definition: Definition
    sending: Sending
    aggregates: Mapping[str, str]
    """SQL that says all of the records of one key and pane, by column."""

    def select(self, df: DataFrame, frontier: Frontier, tasks: int, copies: SessionCopies) -> DataFrame:
        """A row for each key and pane, and one for each other record, or several that say the same."""
        certain = certain_range(self.definition, frontier)
        assert certain is not None
        settings = {**_SETTINGS, "spark.sql.shuffle.partitions": str(tasks)}
        us, pane_us = f"unix_micros({sql_name(self.definition.time)})", self.definition.window.pane_us
        is_certain = _between(us, certain)
        if self.definition.corrupt is not None:
            is_certain = f"({is_certain} AND {sql_name(self.definition.corrupt)} IS NULL)"
        # Spark's division of whole numbers rounds towards zero; panes before 1970 end at smaller numbers.
        pane = f"CASE WHEN {is_certain} THEN div({us}, {pane_us}L) - IF({us} % {pane_us}L < 0, 1L, 0L) END"
        same = {name: sql_name(name) for name in df.columns}
        others = {name: f"CASE WHEN {is_certain} THEN NULL ELSE {sql} END" for name, sql in same.items()}
        grouped = {**others, **{name: same[name] for name in self._keys(df)}, PANE: pane}
        aggregates = {_RECORDS: "count(1)", _OLDEST: f"min({us})", _NEWEST: f"max({us})", **self.aggregates}
        together = copies.with_settings(df, settings).groupBy(*map(_named, grouped.values(), grouped))
        return together.agg(*map(_named, aggregates.values(), aggregates))

    def _keys(self, df: DataFrame) -> list[str]:
        """The columns that condensed rows keep: keys and key group."""
        return [name for name in df.columns if name in self.definition.keys or name == GROUP]

    def records(self, rows: pa.Table) -> pa.Table:
        """The records that are there as they are, with all columns that tasks see."""
        added = {PANE, _RECORDS, _OLDEST, _NEWEST, *self.aggregates}
        alone = rows.filter(pc.is_null(rows.column(PANE)))
        times = np.repeat(np.arange(alone.num_rows), alone.column(_RECORDS).to_numpy())
        sent = alone.select([name for name in alone.column_names if name not in added])
        return self.sending.completed(take_rows(sent, times))

    def condensed(self, rows: pa.Table) -> CondensedRows:
        """The rows that Spark has condensed, as partials of keys and panes."""
        if rows.column(PANE).null_count:
            rows = rows.filter(pc.is_valid(rows.column(PANE)))
        parts = self.definition.query.lift_condensed(rows.select(list(self.aggregates)))
        frame = {
            GROUP: self.sending.groups(rows),
            **{name: rows.column(name) for name in (PANE, *self.definition.keys)},
        }
        columns = {**frame, **dict(zip(parts.column_names, parts.columns, strict=True))}
        records, oldest, newest = (rows.column(name).to_numpy() for name in (_RECORDS, _OLDEST, _NEWEST))
        return CondensedRows(partials=pa.table(columns), records=records, oldest_us=oldest, newest_us=newest)


def _between(us: str, certain: CertainRange) -> str:
    """Whether a time is certain; as a look-up in a list, since a number would be part of the code that Spark compiles.

    It would compile anew in each step, which takes longer than the whole step. A look-up that is the same for all
    records it would replace by what is found, so it depends on the record: on whether its time is before 1970.
    """
    place = f"CAST(shiftrightunsigned({us}, 63) AS INT)"
    oldest, newest = (f"get(array({bound}L, {bound}L), {place})" for bound in certain)
    return f"({us} BETWEEN {oldest} AND {newest})"


def _named(sql: str, name: str) -> Column:
    return F.expr(f"{sql} AS {sql_name(name)}")
