"""A stream, continuously: ``sp.stream(df, time=...).window(...).skyline(...).start(...)``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from skypane.api.calls import called
from skypane.api.options.distinct_options import distinct_of
from skypane.api.options.partition import Partition
from skypane.api.windowed import Windowed
from skypane.flow.definition import Definition
from skypane.flow.distinct.distinct import Distinct
from skypane.flow.record_columns import check_record_columns
from skypane.model.column_names import column_names
from skypane.model.durations import Duration
from skypane.model.errors import OptionError
from skypane.model.live import LiveSpec
from skypane.model.panes import Panes
from skypane.model.row_windows import RowWindows
from skypane.model.windows import WindowSpec
from skypane.queries.base import Query
from skypane.spark.checks import check_columns
from skypane.spark.records import check_streaming, column_names_of, records_of
from skypane.spark_habits import SparkHabits

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@called("sp.stream(df, time='ts', key='city')")
def stream(
    df: DataFrame,
    *,
    time: str,
    key: str | Sequence[str] | None = None,
    partition: str | Partition | None = None,
    distinct_by: str | Sequence[str] | None = None,
    within: Duration | None = None,
) -> Stream:
    """A streaming DataFrame whose column ``time`` says when each record happened; every ``key`` has its own answers.

    partition: the column that names the partition of the source a record comes from (Kafka's ``partition``, a sensor),
        to follow the progress of each; or ``sp.Partition(column, ...)``, which also says how to wait for them.
    distinct_by: the columns that make the id of a record, e.g. ``"offer_id"``: of records with one id whose times are
        at most ``within`` apart, one is accepted, and the others are duplicates. docs/duplicates.md has the rules.
    """
    check_streaming(df)
    described = describe_stream(time=time, key=key, partition=partition, distinct_by=distinct_by, within=within)
    return described.over(df)


def describe_stream(
    *,
    time: str,
    key: str | Sequence[str] | None = None,
    partition: str | Partition | None = None,
    distinct_by: str | Sequence[str] | None = None,
    within: Duration | None = None,
) -> Stream:
    """A stream before there are records: what can be checked without them is checked."""
    if not isinstance(time, str):
        raise OptionError(f"time={time!r} must be the name of a column, as text.")
    if partition is not None and not isinstance(partition, str | Partition):
        raise OptionError(f"partition={partition!r} must be the name of a column, or an sp.Partition of one.")
    no_records = cast("DataFrame", None)  # nobody looks at them before there are some
    keys = _different(column_names(key, "key"))
    named = Partition(partition) if isinstance(partition, str) else partition
    return Stream(no_records, time, keys, named, distinct_of(distinct_by, within))


def _different(keys: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(keys)) < len(keys):
        raise OptionError(f"key={list(keys)!r} names a column twice.")
    return keys


@dataclass(frozen=True)
class Stream(SparkHabits):
    """Records with a time; say next over which windows to ask."""

    df: DataFrame
    time: str
    keys: tuple[str, ...]
    partition: Partition | None = None
    distinct: Distinct | None = None

    @property
    def has_records(self) -> bool:
        """Whether there are any yet: ``skypane run`` checks its settings before it starts Spark."""
        return self.df is not None

    def over(self, df: DataFrame) -> Stream:
        """The same over these records: its columns are found, and as the records spell them."""
        names, partition, distinct = column_names_of(df), self.partition, self.distinct
        if distinct is not None:
            distinct = replace(distinct, columns=tuple(names.find(name, "Id column") for name in distinct.columns))
            distinct.check(records_of(df))
        found = Stream(
            df,
            names.find(self.time, "Time column"),
            _different(tuple(names.find(key, "Key") for key in self.keys)),
            None if partition is None else replace(partition, column=names.find(partition.column, "Partition column")),
            distinct,
        )
        column = None if found.partition is None else found.partition.column
        check_record_columns(records_of(df), found.time, found.keys, column)
        return found

    def ask(self, query: Query, spec: Panes) -> Query:
        """The query as it is asked of these records, if there are any yet: its columns are found and can serve."""
        if not self.has_records:
            return query
        found = query.resolved(column_names_of(self.df))
        check_columns(self.df, Definition(found, spec, self.time, self.keys))
        return found

    @called(".window('10 seconds', slide='2 seconds')")
    def window(self, size: Duration, slide: Duration | None = None) -> Windowed:
        """Windows of ``size`` that start every ``slide``, aligned to the epoch as Spark's ``F.window`` aligns them.

        No slide: tumbling windows. A slide longer than the size: hopping windows, with gaps between them.
        """
        return Windowed(self, WindowSpec.parse(size, slide))

    @called(".window_rows(1000, slide=100)")
    def window_rows(self, size: int, slide: int | None = None, *, ttl: Duration | None = None) -> Windowed:
        """Windows of ``size`` records of a key that start every ``slide`` records, in the order of their times.

        No slide: tumbling windows. A slide larger than the size: hopping windows, with records between them.

        ttl: a key that has had no record for so long, by the records' own times, is forgotten: its open windows are
            emitted, marked partial, and its next record is the first again. By default keys are never forgotten.
        """
        return Windowed(self, RowWindows.parse(size, slide, ttl))

    @called(".live('10 seconds')")
    def live(self, life: Duration, slide: Duration | None = None) -> Windowed:
        """No windows: the answer at every instant, from the records of the last ``life``; emits each change.

        Skylines and top-k can be followed like this, with ``.emit("updates")`` or ``.emit("intervals")``.
        """
        if slide is not None:
            raise OptionError("live(...) follows every instant: there is no slide. Leave slide= out, or use .window().")
        return Windowed(self, LiveSpec.parse(life))
