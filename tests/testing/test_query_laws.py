"""The law suite for queries catches wrong queries, and says which law they break and how."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import strategies as st

from skypane.model.groups import Groups, Int64Array
from skypane.queries.aggregates import Aggregates
from skypane.queries.base import Grouped, Invalid, Query, Row, Selection
from skypane.queries.preferences import Preferences
from skypane.queries.skyline import Skyline
from skypane.testing.law import LawBroken
from skypane.testing.query_laws import check_query

SCHEMA = pa.schema([("price", pa.float64()), ("rating", pa.int64())])
ROW = st.fixed_dictionaries({"price": st.sampled_from([1.0, 2.0, 3.0]), "rating": st.integers(0, 3)})
BOTH = Preferences.of("price", "rating")


class Cheapest(Selection):
    """The cheapest records: right, until a test makes it wrong."""

    kind = "cheapest"

    def describe(self) -> Mapping[str, object]:
        return {"type": self.kind}

    def check(self, schema: pa.Schema) -> None:
        pass

    def inputs(self) -> Sequence[str]:
        return ("price",)

    def select(self, rows: pa.Table, groups: Groups) -> Int64Array:
        prices = rows.column("price").to_numpy()
        best = np.full(len(groups), np.inf)
        np.minimum.at(best, groups.row_ids(), prices)
        return np.flatnonzero(prices == best[groups.row_ids()])

    def reference(self, rows: Sequence[Row]) -> list[Row]:
        best = min((row["price"] for row in rows), default=0.0)
        return [row for row in rows if row["price"] == best]


class WrongInputs(Cheapest):
    def inputs(self) -> Sequence[str]:
        return ("rating",)


class UnknownInputs(Cheapest):
    def inputs(self) -> Sequence[str]:
        return ("prise", "price")


class ForgetsGroups(Cheapest):
    def select(self, rows: pa.Table, groups: Groups) -> Int64Array:
        return super().select(rows, Groups.whole(rows.num_rows))


class SaysTooLittle(Cheapest):
    def lower(self, partials: pa.Table, groups: Groups) -> Grouped:
        return Grouped(partials.append_column("rank", pa.array(np.zeros(partials.num_rows))), groups)

    def reference(self, rows: Sequence[Row]) -> list[Row]:
        return [{**row, "rank": 0.0} for row in super().reference(rows)]


class NoJson(Cheapest):
    def describe(self) -> Mapping[str, object]:
        return {"type": self.kind, "weights": np.ones(2)}


class FirstOfEquals(Cheapest):
    """The answer depends on the order in which records come."""

    def select(self, rows: pa.Table, groups: Groups) -> Int64Array:
        kept = super().select(rows, groups)
        return kept[np.unique(groups.row_ids()[kept], return_index=True)[1]]

    def reference(self, rows: Sequence[Row]) -> list[Row]:
        return super().reference(rows)[:1]


@dataclass(frozen=True)
class NotDominance(Skyline):
    """Says that its partials are skylines, but keeps everything."""

    def select(self, rows: pa.Table, groups: Groups) -> Int64Array:
        del groups
        return np.arange(rows.num_rows)

    def lower(self, partials: pa.Table, groups: Groups) -> Grouped:
        kept = super().select(partials, groups)
        return Grouped(partials.take(pa.array(kept)), groups.after_keeping(kept))


class LooksElsewhere(Aggregates):
    """Refuses records for a column that it does not say it reads."""

    def invalid(self, rows: pa.Table) -> Sequence[Invalid]:
        return [Invalid(rows.column("rating").to_numpy() < 0, "negative rating")]


def test_a_right_query_passes() -> None:
    check_query(Cheapest(), SCHEMA, ROW, max_examples=40)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (WrongInputs(), r"breaks the law select_reads_inputs_only: .*\n  raised KeyError: .*price"),
        (UnknownInputs(), r"breaks the law inputs_are_columns: .*(?s:.*)got:      \['prise'\]\n  expected: \[\]"),
        (ForgetsGroups(), r"breaks the law groups_are_independent: Many groups in one call"),
        (SaysTooLittle(), r"breaks the law added_columns_are_named: (?s:.*)got:      \['rank'\]"),
        (NoJson(), r"breaks the law it_describes_itself: "),
        (FirstOfEquals(), r"breaks the law \w+: (?s:.*)got: (?s:.*)expected: "),
        (
            LooksElsewhere.of({"high": "max(price)"}),
            r"breaks the law invalid_reads_what_is_said_only: .*\n  raised KeyError: .*rating",
        ),
        (NotDominance(BOTH), r"breaks the law partials_of_dominance_are_skylines: "),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_wrong_query_is_told_which_law_it_breaks(query: Query, message: str) -> None:
    with pytest.raises(LawBroken, match=message):
        check_query(query, SCHEMA, ROW, max_examples=100)
