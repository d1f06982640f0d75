"""Query: lift rows into partials, combine partials, lower a window's partial into its answer.

Every operation works on many groups at once: a table whose rows are sorted by group, and where each group starts
(:class:`~skypane.model.groups.Groups`). So a million rows of one key and one row of each of a million keys take the
same few vectorised calls.

The laws that every query must keep are executed by :func:`skypane.testing.check_query`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol

import pyarrow as pa

from skypane.model.column_names import ColumnNames, missing_column
from skypane.model.groups import BoolArray, Float64Array, Groups, Int64Array
from skypane.model.window import Window
from skypane.queries.frames import Failure, Frames, Placement
from skypane.tables.take import take_rows

Row = dict[str, Any]


class Grouped(NamedTuple):
    """A table sorted by group, with the groups' borders."""

    table: pa.Table
    groups: Groups


class Answered(NamedTuple):
    """Answer rows, and the groups that have none since a function of the user's failed."""

    answer: Grouped
    failures: Sequence[Failure] = ()


class Expression(NamedTuple):
    """A column to compute from the records before they are lifted."""

    sql: str
    compared: bool = False
    """Whether values are compared with each other: a type whose order workers do not know is refused then."""


class SqlAggregate(NamedTuple):
    """An SQL aggregate of a column, ``{x}``."""

    sql: str
    of: str
    """The name of the column."""


class Invalid(NamedTuple):
    """Rows that the query cannot use, and why."""

    mask: BoolArray
    reason: str


class Query(ABC):
    """A window computation. Implement one in its own file; register nothing; run the law suite on it.

    That ``combine`` is associative and commutative is promised by all. What else the stages may rely on, a query says
    itself: ``selection``, ``dominance``, ``ranking``, ``answer_is_partial``, ``decomposable``, ``keeps_records``,
    ``reads_frame``, ``in_order``, ``in_threads``, ``added_columns``. Nobody asks for its class.
    """

    kind: ClassVar[str]
    """The name in checkpoints and explanations."""
    answer_is_partial: ClassVar[bool] = False
    """A window's answer is its partial, row by row: ``lower`` changes nothing."""
    decomposable: ClassVar[bool] = True
    """Partials of parts of the rows combine to the partial of all: panes and tiles may serve the query."""

    keeps_records: ClassVar[bool] = False
    """A partial is the group's records as they are: ``lift`` and ``combine`` change nothing."""
    reads_frame: ClassVar[bool] = False
    """Whether ``combine`` looks at the key and the pane of the rows, too; else it is spared them."""
    runs_functions: ClassVar[bool] = False
    """Whether it calls functions of the user's, which may fail for one window and not for others."""
    in_threads: ClassVar[bool] = False
    """Whether several threads of a process may ask it at once, each about rows of its own, and gain by it."""

    @property
    def in_order(self) -> bool:
        """Whether ``lift`` needs all records of a pane at once, so that they wait until it is sealed."""
        return False

    def placed(self, placement: Placement) -> Query:
        """The query as it runs in this place; most run the same everywhere."""
        del placement
        return self

    def resolved(self, names: ColumnNames) -> Query:
        """The query with its columns as the records spell them; SQL expressions are left to Spark."""
        del names
        return self

    @property
    def selection(self) -> Selection | None:
        """How it selects, if partials and answers are rows of the input, so that a record's own columns stay."""
        return None

    @property
    def dominance(self) -> Dominance | None:
        """By which numbers records dominate each other, if a partial is the skyline of its rows."""
        return None

    @property
    def ranking(self) -> Ranking | None:
        """How records are ranked, if an answer is the best few of them."""
        return None

    @property
    def selective(self) -> bool:
        """Whether it selects records."""
        return self.selection is not None

    def reads(self) -> Sequence[str] | None:
        """The columns that ``lift`` and ``invalid`` read, if that is all; ``None`` if it reads whole records."""
        return None

    def added_columns(self) -> Sequence[str]:
        """The columns of the answer that the records do not have."""
        return ()

    @abstractmethod
    def describe(self) -> Mapping[str, object]:
        """Everything that defines the answer, as JSON: a changed description is a changed query."""

    def explain(self) -> str:
        """What is asked, in words."""
        return ", ".join(f"{name}={value}" for name, value in self.describe().items() if name != "type")

    @abstractmethod
    def check(self, schema: pa.Schema) -> None:
        """Raise :class:`SchemaError` naming the column if the query cannot run on such records."""

    def expressions(self) -> Mapping[str, Expression]:
        """Columns to compute from SQL expressions before ``lift``, by internal name."""
        return {}

    def needs_record_id(self) -> bool:
        """Whether ``lift`` needs :data:`skypane.model.columns.ID`, a hash of the whole record, to break ties."""
        return False

    def invalid(self, rows: pa.Table) -> Sequence[Invalid]:
        """Rows to quarantine; of several reasons for one row the first counts."""
        del rows
        return ()

    def condensed(self, schema: pa.Schema) -> Mapping[str, SqlAggregate] | None:
        """SQL aggregates of the rows of a group that say, by name, all that ``lift`` would; ``None`` if none do.

        Only exact ones, and only such whose order of records does not show.
        """
        del schema
        return None

    def lift_condensed(self, rows: pa.Table) -> pa.Table:
        """The partials of groups, row by row, from what these aggregates are."""
        return rows

    def warm_up(self) -> None:  # noqa: B027 - most queries of others will have nothing to compile
        """Compile the kernels that the query uses, on made-up rows: worker processes then find them in the cache."""

    @abstractmethod
    def lift(self, rows: pa.Table, groups: Groups) -> Grouped:
        """Turn the rows of each group into the group's partial (a few rows of the partial schema)."""

    @abstractmethod
    def combine(self, partials: pa.Table, groups: Groups) -> Grouped:
        """Merge the partial rows of each group into one partial."""

    @abstractmethod
    def lower(self, partials: pa.Table, groups: Groups) -> Grouped:
        """Turn each group's partial into its answer rows."""

    def answer(self, partials: pa.Table, groups: Groups, frames: Frames) -> Answered:
        """Lower with the key and the window of each group; most answers depend on neither."""
        del frames
        return Answered(self.lower(partials, groups))

    @abstractmethod
    def reference(self, rows: Sequence[Row]) -> list[Row]:
        """The answer for one group of rows, the slow obvious way, in any order: the oracle of the law suite."""

    def reference_of(self, rows: Sequence[Row], key: Row, window: Window, schema: pa.Schema | None) -> list[Row]:
        """Lower one group, given its key, its window, and the columns of its rows."""
        del key, window, schema
        return self.reference(rows)


class Selection(Query):
    """A query that selects records: the partial of a group is a subset of its rows."""

    @property
    def selection(self) -> Selection:
        """This query is a selection."""
        return self

    @abstractmethod
    def inputs(self) -> Sequence[str]:
        """The columns that ``select`` reads: only these are brought into group order before selecting."""

    @abstractmethod
    def select(self, rows: pa.Table, groups: Groups) -> Int64Array:
        """Indices (ascending) of the rows that may still matter to a window that contains their group."""

    def lift(self, rows: pa.Table, groups: Groups) -> Grouped:
        """Keep the selected rows."""
        indices = self.select(rows, groups)
        if len(indices) == rows.num_rows:
            return Grouped(rows, groups)
        return Grouped(take_rows(rows, indices), groups.after_keeping(indices))

    def combine(self, partials: pa.Table, groups: Groups) -> Grouped:
        """A selection of a union of selections: the same operation again."""
        return self.lift(partials, groups)

    def lower(self, partials: pa.Table, groups: Groups) -> Grouped:
        """The selected records are the answer."""
        return Grouped(partials, groups)


class Dominance(Protocol):
    """A query whose partials are skylines, so that windows can slide by critical panes."""

    def inputs(self) -> Sequence[str]:
        """The columns that the selection compares."""
        ...

    def matrix(self, rows: pa.Table) -> Float64Array:
        """One row of numbers per record, smaller is better."""
        ...


class Ranking(Protocol):
    """A query that answers with the best ``k`` records of a total order, so that they can be followed live."""

    @property
    def k(self) -> int:
        """How many records to keep."""
        ...

    def inputs(self) -> Sequence[str]:
        """The columns that the selection compares."""
        ...

    def ranks(self, rows: pa.Table) -> Int64Array:
        """The rank of each row, 0 for the best; all different."""
        ...

    def scored(self, rows: pa.Table) -> pa.Table:
        """The rows with the columns that answers have."""
        ...


def find_column(schema: pa.Schema, name: str, role: str) -> pa.Field:
    """The field called ``name``, or an error that lists what there is."""
    index = schema.get_field_index(name)
    if index < 0:
        raise missing_column(schema.names, name, role)
    return schema.field(index)
