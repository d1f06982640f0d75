"""Sending: which columns of the records Spark sends to the tasks of the pane stage, and which these fill in."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from skypane.model.columns import GROUP, PREFIX
from skypane.queries.base import Expression
from skypane.spark.schemas import arrow_schema, quoted, sql_name
from skypane.tables.key_groups import can_group, key_groups


@dataclass(frozen=True)
class Sending:
    """Travels to the workers; leaves out columns that no task reads, that repeat another, or that are constant."""

    copies: Mapping[str, str] = field(default_factory=dict)
    """Columns that say what another one says."""
    constants: Mapping[str, int] = field(default_factory=dict)
    """Columns that are the same number for all records."""
    hashed: Sequence[str] = ()
    """The keys whose hash says the key group; none if Spark has to say it."""
    unread: Sequence[str] = ()
    """Columns that no task reads."""

    @classmethod
    def of(
        cls,
        records: DataFrame,
        expressions: Mapping[str, Expression],
        keys: Sequence[str],
        read: Collection[str] | None = None,
    ) -> Sending:
        """For records with a column for each expression, and with their key group if they have keys.

        ``read`` are the columns of the records that are read beside keys and expressions, if not all are.
        """
        constants = {name: int(asked.sql) for name, asked in expressions.items() if _is_small(asked.sql)}
        named = {name: asked.sql for name, asked in expressions.items() if _is_name(asked.sql, records.columns)}
        # A text may mean something else: ``true`` is no column, whatever columns there are.
        texts, columns = map(F.expr, named.values()), map(quoted, named.values())
        copies = named if named and records.select(*texts).sameSemantics(records.select(*columns)) else {}
        wanted = records.columns if read is None else {*read, *keys, *copies.values()}
        unread = [name for name in records.columns if name not in wanted and not name.startswith(PREFIX)]
        if not keys:  # there is one key group
            return cls(copies, {**constants, GROUP: 0}, unread=unread)
        schema = arrow_schema(records)
        hashed = keys if all(can_group(schema.field(key).type) for key in keys) else ()
        return cls(copies, constants, tuple(hashed), unread=unread)

    def select(self, records: DataFrame) -> DataFrame:
        """What Spark is to send."""
        left_out = {*self.copies, *self.constants, *self.unread, *([GROUP] if self.hashed else [])}
        return records.select(*(quoted(name) for name in records.columns if name not in left_out))

    def completed(self, sent: pa.Table) -> pa.Table:
        """With the columns that were not sent."""
        for name, source in self.copies.items():
            sent = sent.append_column(name, sent.column(source))
        for name, number in self.constants.items():
            sent = sent.append_column(name, _repeated(number, sent.num_rows))
        return sent.append_column(GROUP, key_groups(sent, self.hashed)) if self.hashed else sent

    def groups(self, sent: pa.Table) -> pa.Array | pa.ChunkedArray:
        """The key group of each row, whatever else was sent with its keys."""
        if self.hashed:
            return key_groups(sent, self.hashed)
        return _repeated(0, sent.num_rows) if GROUP in self.constants else sent.column(GROUP)

    def sql(self, name: str) -> str:
        """What a column is made of, also if it is not sent."""
        return str(self.constants[name]) if name in self.constants else sql_name(self.copies.get(name, name))

    def schema(self, sent: pa.Schema) -> pa.Schema:
        """The schema of what tasks see."""
        return self.completed(sent.empty_table()).schema


def _repeated(number: int, rows: int) -> pa.Array:
    return pa.array(np.full(rows, number, dtype=np.int32))


def _is_name(sql: str, columns: Sequence[str]) -> bool:
    """Whether it is the name of a column, and looks like nothing else."""
    return sql in columns and sql.isidentifier()


def _is_small(sql: str) -> bool:
    """Whether it is a whole number that Spark takes for an int."""
    return sql.isascii() and sql.isdecimal() and int(sql) < 2**31
