"""A stream, continuously: ``sp.stream(df, time=...).window(...).skyline(...).start(...)``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skypane.api.options.distinct_options import distinct_of
from skypane.api.options.partition import Partition
from skypane.api.windowed import Windowed
from skypane.flow.distinct.distinct import Distinct
from skypane.model.durations import Duration
from skypane.model.errors import OptionError
from skypane.model.live import LiveSpec
from skypane.model.row_windows import RowWindows
from skypane.model.windows import WindowSpec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


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
    keys = () if key is None else (key,) if isinstance(key, str) else tuple(key)
    if not isinstance(time, str) or any(not isinstance(k, str) for k in keys):
        raise OptionError("time= takes a column name, key= a column name or a list of column names.")
    if len(set(keys)) < len(keys):
        raise OptionError(f"key={list(keys)!r} names a column twice.")
    if partition is not None and not isinstance(partition, str | Partition):
        raise OptionError(f"partition={partition!r} must be the name of a column, or an sp.Partition of one.")
    named = Partition(partition) if isinstance(partition, str) else partition
    return Stream(df, time, keys, named, distinct_of(distinct_by, within))


@dataclass(frozen=True)
class Stream:
    """Records with a time; say next over which windows to ask."""

    df: DataFrame
    time: str
    keys: tuple[str, ...]
    partition: Partition | None = None
    distinct: Distinct | None = None

    def window(self, size: Duration, slide: Duration | None = None) -> Windowed:
        """Windows of ``size`` that start every ``slide``, aligned to the epoch as Spark's ``F.window`` aligns them.

        No slide: tumbling windows. A slide longer than the size: hopping windows, with gaps between them.
        """
        return Windowed(self, WindowSpec.parse(size, slide))

    def window_rows(self, size: int, slide: int | None = None, *, ttl: Duration | None = None) -> Windowed:
        """Windows of ``size`` records of a key that start every ``slide`` records, in the order of their times.

        No slide: tumbling windows. A slide larger than the size: hopping windows, with records between them.

        ttl: a key that has had no record for so long, by the records' own times, is forgotten: its open windows are
            emitted, marked partial, and its next record is the first again. By default keys are never forgotten.
        """
        return Windowed(self, RowWindows.parse(size, slide, ttl))

    def live(self, life: Duration, slide: Duration | None = None) -> Windowed:
        """No windows: the answer at every instant, from the records of the last ``life``; emits each change.

        Skylines and top-k can be followed like this, with ``.emit("updates")`` or ``.emit("intervals")``.
        """
        if slide is not None:
            raise OptionError("live(...) follows every instant: there is no slide. Leave slide= out, or use .window().")
        return Windowed(self, LiveSpec.parse(life))
