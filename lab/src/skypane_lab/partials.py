"""Algebra: what virtual workers do to partials and how long it takes - real partials of a query, or counts alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, NamedTuple, Protocol, TypeVar

import pyarrow as pa

from skypane.model.groups import Groups
from skypane.queries.base import Query
from skypane_lab.cost_model import CostModel

P = TypeVar("P")


class Combined(NamedTuple, Generic[P]):
    """A partial made of two, and the time it took."""

    partial: P
    took_us: float


class Algebra(Protocol[P]):
    """Combines partials under virtual time."""

    def combine(self, into: P | None, partial: P) -> Combined[P]:
        """Bring a partial into a result, or begin a result with it."""
        ...


@dataclass(frozen=True)
class CountedPartial:
    """A partial without records: how many it stands for, and how many rows it would have."""

    distribution: str
    records: int
    rows: float


@dataclass(frozen=True)
class CountedAlgebra:
    """Sizes and times from a cost model. A mixture counts as the distribution of its larger part."""

    cost: CostModel

    def shard(self, distribution: str, records: int) -> CountedPartial:
        """The partial of a shard."""
        return CountedPartial(distribution, records, self.cost.rows(distribution, records))

    def combine(self, into: CountedPartial | None, partial: CountedPartial) -> Combined[CountedPartial]:
        """Records add up; rows follow the curve of so many records."""
        if into is None:
            return Combined(partial, self.cost.combine_us(0.0, partial.rows, partial.rows))
        distribution = max(into, partial, key=lambda p: p.rows).distribution
        records = into.records + partial.records
        rows = min(into.rows + partial.rows, max(into.rows, self.cost.rows(distribution, records)))
        return Combined(
            CountedPartial(distribution, records, rows), self.cost.combine_us(into.rows, partial.rows, rows)
        )


@dataclass(frozen=True)
class QueryAlgebra:
    """The real thing: partials of a query; the time grows with their rows."""

    query: Query
    row_us: float = 10.0

    def shard(self, rows: pa.Table) -> pa.Table:
        """The partial of a shard's records."""
        return self.query.lift(rows, Groups.whole(rows.num_rows)).table

    def combine(self, into: pa.Table | None, partial: pa.Table) -> Combined[pa.Table]:
        """The query's own combine."""
        both = partial if into is None else pa.concat_tables([into, partial])
        combined = self.query.combine(both, Groups.whole(both.num_rows)).table
        return Combined(combined, self.row_us * (1 + both.num_rows))

    def answer(self, result: pa.Table) -> pa.Table:
        """The window's answer."""
        return self.query.lower(result, Groups.whole(result.num_rows)).table
