"""Definition: everything about a continuous query that decides its answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import pyarrow as pa

from skypane.flow.distinct.distinct import Distinct
from skypane.flow.record_columns import check_record_columns
from skypane.flow.windows.emit.base import Emission
from skypane.flow.windows.emit.full import Full
from skypane.model.columns import DISTINCT, GROUP, ID, KEY_GROUPS, PANE, PREFIX, REVISION, WINDOW
from skypane.model.errors import SchemaError
from skypane.model.panes import Panes
from skypane.queries.base import Query
from skypane.queries.frames import Placement


@dataclass(frozen=True)
class Definition:
    """A query, its windows, the time column and the key columns."""

    question: Query
    """The query as the user wrote it; stages run :attr:`query`."""
    window: Panes
    time: str
    keys: tuple[str, ...] = ()
    time_zone: str | None = "UTC"
    """How times are shown; ``None`` for timestamps without a zone. Windows are aligned to the epoch either way."""

    emit: Emission = field(default_factory=Full)
    """What is sent of the windows' answers."""
    sliding: str = "auto"
    """How panes become answers, see :mod:`skypane.flow.windows.slide.choice`."""

    partition: str | None = None
    """The column that names the source partition of a record, if partitions are tracked."""
    allowed_lateness_us: int = 0
    """How long after its pane was sealed a record still corrects the answers of its windows."""
    harm_horizon_us: int = 0
    """How long after its pane was sealed a late record is still judged: harmful or harmless; 0 for not at all."""
    max_slack_us: int | None = None
    """The most slack there can be: records that it could not have saved teach nothing; ``None`` for no bound."""
    processing: str = "out_of_order"
    """``out_of_order``: records are lifted as they come; ``in_order``: buffered until their pane is sealed."""
    sets_aside: bool = False
    """Whether windows on which a function of the user's fails are set aside; else the error ends the query."""

    distinct: Distinct | None = None
    """What makes two records duplicates, if they are found."""
    corrupt: str | None = None
    """The column with the text of records that the source could not parse, null for all others; no answer has it."""

    runs_in: Placement | None = None
    """Where the query runs, if not in these windows by these keys: panes of ranks are not what its records are in."""

    @property
    def placement(self) -> Placement:
        """Where the query runs."""
        return self.runs_in or Placement(
            time=self.time,
            keys=self.keys,
            window=self.window,
            time_zone=self.time_zone,
            amendable=self.allowed_lateness_us > 0,
            tolerant=self.sets_aside,
        )

    @cached_property
    def query(self) -> Query:
        """The query as it runs in its place."""
        return self.question.placed(self.placement)

    @property
    def added_columns(self) -> tuple[str, ...]:
        """The columns that the result has beside keys and answers."""
        window = () if self.emit.instants else (WINDOW,)
        return (*window, *((REVISION,) if self.allowed_lateness_us else ()), *self.emit.columns())

    @property
    def judges_late(self) -> bool:
        """Whether late records go to the window stage, to be judged."""
        return self.harm_horizon_us > 0

    @property
    def every_record_counts(self) -> bool:
        """Whether a late record is harmful whatever else there was: every one does, or shifts those after it."""
        return self.window.counted or not self.query.selective

    @property
    def wants_records(self) -> bool:
        """Whether the state holds whole records, with columns that the query does not read."""
        return self.processing != "out_of_order"

    @property
    def needs_record_id(self) -> bool:
        """Whether records need a hash of all they say: to cut ties, or to be counted in one order."""
        return self.keeps_record_id or self.distinct is not None

    @property
    def keeps_record_id(self) -> bool:
        """Whether the window stage needs it, too."""
        return self.window.counted or self.query.needs_record_id()

    def after_admission(self, rows: pa.Table) -> pa.Table:
        """Without the columns that only tell duplicates."""
        if self.distinct is None:
            return rows
        return rows.drop_columns([DISTINCT] if self.keeps_record_id else [DISTINCT, ID])

    @property
    def retention_us(self) -> int:
        """How long sealed panes are kept beyond their last window."""
        return max(self.allowed_lateness_us, 0 if self.every_record_counts else self.harm_horizon_us)

    def history_from(self, punctuation_us: int) -> int:
        """The oldest pane that a record within the retention can still have a window in common with."""
        return self.window.oldest_neighbour(self.window.sealed_before(punctuation_us - self.retention_us))

    @property
    def frame(self) -> tuple[str, ...]:
        """The columns that say whose partial it is: every partial carries them."""
        return (GROUP, PANE, *self.keys)

    def accepted_schema(self, records: pa.Schema) -> pa.Schema:
        """What accepted and late records have of the columns that arrive."""
        return pa.schema([field for field in records if field.name != self.corrupt])

    def check(self, schema: pa.Schema) -> None:
        """Raise :class:`SchemaError` naming the column if records of this schema cannot be processed."""
        for name in schema.names:
            if name.startswith(PREFIX) and name not in self.query.expressions():
                raise SchemaError(f"Column {name!r}: names that start with {PREFIX!r} are reserved. Rename it.")
            if name.lower() in self.added_columns:
                raise SchemaError(f"The records have a column {name!r}, which the result adds. Rename it first.")
        check_record_columns(schema, self.time, self.keys, self.partition)
        if self.distinct is not None:
            self.distinct.check(schema)
        self.query.check(schema)

    def describe(self) -> Mapping[str, object]:
        """The fingerprint that a checkpoint keeps: another one is another query."""
        return {
            "query": dict(self.query.describe()),
            "window": dict(self.window.describe()),
            "time": self.time,
            "keys": list(self.keys),
            "emit": self.emit.variant,
            "slide": self.sliding,
            "allowed_lateness_us": self.allowed_lateness_us,
            "processing": self.processing,
            "key_groups": KEY_GROUPS,
            **({} if self.distinct is None else {"distinct": dict(self.distinct.describe())}),
            **({} if self.corrupt is None else {"corrupt": self.corrupt}),
        }
