"""The law suite: every query type, yours included, must pass ``check_query``.

    from hypothesis import strategies as st
    from skypane.testing.laws import check_query

    def test_my_query() -> None:
        check_query(MyQuery(...), schema, st.fixed_dictionaries({"price": st.floats(...), ...}))

Each law is a function of a query and three tables of rows; its docstring is the law.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from skypane.local.preparation import prepare
from skypane.model.columns import GROUP, ID, PREFIX
from skypane.model.groups import Groups
from skypane.queries.base import Grouped, Query, Row

Law = Callable[[Query, pa.Table, pa.Table, pa.Table], None]


def answer_equals_reference(query: Query, a: pa.Table, b: pa.Table, c: pa.Table) -> None:
    """``lower(lift(rows))`` is what the slow obvious reference says."""
    for rows in (a, b, c):
        assert _answer(query, _lift(query, rows)) == _text(query.reference(rows.to_pylist()))


def cuts_do_not_show(query: Query, a: pa.Table, b: pa.Table, c: pa.Table) -> None:
    """Rows may be cut into partials anywhere: combining ``lift`` of the pieces answers like ``lift`` of all rows."""
    whole = pa.concat_tables([a, b, c])
    assert _answer(query, _combine(query, *(_lift(query, t) for t in (a, b, c)))) == _answer(query, _lift(query, whole))


def combine_is_associative(query: Query, a: pa.Table, b: pa.Table, c: pa.Table) -> None:
    """``(a + b) + c`` answers like ``a + (b + c)``."""
    x, y, z = (_lift(query, t) for t in (a, b, c))
    left = _combine(query, _combine(query, x, y), z)
    assert _answer(query, left) == _answer(query, _combine(query, x, _combine(query, y, z)))


def combine_is_commutative(query: Query, a: pa.Table, b: pa.Table, c: pa.Table) -> None:
    """The order of partials does not matter."""
    x, y, z = (_lift(query, t) for t in (a, b, c))
    assert _answer(query, _combine(query, x, y, z)) == _answer(query, _combine(query, z, x, y))


def combining_one_partial_changes_nothing(query: Query, a: pa.Table, b: pa.Table, c: pa.Table) -> None:
    """A partial that is combined with nothing stays what it was."""
    for rows in (a, b, c):
        lifted = _lift(query, rows)
        assert _answer(query, _combine(query, lifted)) == _answer(query, lifted)


def groups_are_independent(query: Query, a: pa.Table, b: pa.Table, c: pa.Table) -> None:
    """Many groups in one call give what each group gives alone; an empty group gives no row."""
    empty = a.slice(0, 0)
    tables = [a, empty, b, c, empty]
    groups = Groups.from_sizes([t.num_rows for t in tables])
    lifted = query.lift(pa.concat_tables(tables), groups)
    assert len(lifted.groups) == len(tables)
    lowered = query.lower(*query.combine(*lifted))
    for index, rows in enumerate(tables):
        low, high = lowered.groups.offsets[index], lowered.groups.offsets[index + 1]
        alone = [] if not rows.num_rows else _answer(query, _lift(query, rows))
        assert _text(lowered.table.slice(low, high - low).to_pylist()) == alone


def partials_keep_their_schema(query: Query, a: pa.Table, b: pa.Table, c: pa.Table) -> None:
    """Partials have one schema, with or without rows, lifted or combined: they are stored and concatenated."""
    schema = _lift(query, a.slice(0, 0)).schema
    for rows in (a, b, c):
        lifted = _lift(query, rows)
        assert lifted.schema == schema
        assert _combine(query, lifted, lifted).schema == schema


def selections_select(query: Query, a: pa.Table, b: pa.Table, c: pa.Table) -> None:
    """A selective query answers with rows of its input, each at most as often as it was there."""
    if not query.selective:
        return
    for rows in (a, b, c):
        have = _text([{k: row[k] for k in rows.column_names} for row in rows.to_pylist()])
        lifted = _lift(query, rows)
        answer = query.lower(lifted, Groups.whole(lifted.num_rows)).table
        for text in _text([{k: row[k] for k in rows.column_names} for row in answer.to_pylist()]):
            have.remove(text)


LAWS: tuple[Law, ...] = (
    answer_equals_reference,
    cuts_do_not_show,
    combine_is_associative,
    combine_is_commutative,
    combining_one_partial_changes_nothing,
    groups_are_independent,
    partials_keep_their_schema,
    selections_select,
)


def check_query(query: Query, schema: pa.Schema, row: st.SearchStrategy[Row], *, max_examples: int = 200) -> None:
    """Check every law on generated rows; rows that the query itself calls invalid are left out, as the stages do.

    Expressions of the query must be plain column names here: only Spark evaluates SQL.
    """
    tables = st.lists(row, max_size=12).map(lambda rows: _usable(query, pa.Table.from_pylist(rows, schema)))

    @settings(max_examples=max_examples, deadline=None)
    @given(a=tables, b=tables, c=tables)
    def check(a: pa.Table, b: pa.Table, c: pa.Table) -> None:
        for law in LAWS:
            law(query, a, b, c)

    check()


def _usable(query: Query, rows: pa.Table) -> pa.Table:
    """The rows with their internal columns, without those that the stages would quarantine."""
    rows = prepare(query, (), rows).drop_columns([GROUP])
    bad = np.zeros(rows.num_rows, dtype=np.bool_)
    for mask, _ in query.invalid(rows):
        bad |= mask
    return rows.filter(pa.array(~bad))


def _lift(query: Query, rows: pa.Table) -> pa.Table:
    return query.lift(rows, _one_group(rows)).table


def _combine(query: Query, *partials: pa.Table) -> pa.Table:
    table = pa.concat_tables(partials)
    return query.combine(table, _one_group(table)).table


def _answer(query: Query, partial: pa.Table) -> list[str]:
    grouped: Grouped = query.lower(partial, _one_group(partial))
    return _text(grouped.table.to_pylist())


def _one_group(table: pa.Table) -> Groups:
    return Groups.whole(table.num_rows)


def _text(rows: list[dict[str, Any]]) -> list[str]:
    """A canonical form: row order does not matter, nor do the last digits of floating-point sums."""
    return sorted(
        repr(sorted((k, _canonical(v)) for k, v in row.items() if k == ID or not k.startswith(PREFIX))) for row in rows
    )


def _canonical(value: Any) -> Any:
    if isinstance(value, float) and math.isfinite(value):
        return float(f"{value:.11e}") + 0.0
    return value
