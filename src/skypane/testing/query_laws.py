"""The law suite for queries: every query type, yours included, must pass ``check_query``.

    from hypothesis import strategies as st
    from skypane.testing import check_query

    def test_my_query() -> None:
        check_query(MyQuery(...), schema, st.fixed_dictionaries({"price": st.floats(...), ...}))

Each law is a function of a query and of rows; its docstring is the law. Rows go the way they go in a running query:
through :mod:`skypane.queries.reduce`, which shows ``select`` only the columns that ``inputs`` names and carries keys
and panes along, and through the in-process engine.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from skypane.kernels import reference
from skypane.local.preparation import prepare
from skypane.model.columns import GROUP, ID, PANE, PREFIX
from skypane.model.groups import Groups
from skypane.queries import reduce
from skypane.queries.base import Grouped, Query, Row
from skypane.queries.frames import Frames
from skypane.tables.grouping import sort_by
from skypane.testing.law import expect, for_all, uphold
from skypane.testing.oracle import row_texts, usable
from skypane.testing.query_runs import answers_equal_reference_in_every_window, runs

FRAME = (GROUP, PANE)


@dataclass(frozen=True)
class Pieces:
    """Rows as they reach the stages, in three pieces, with the partial and the answer of each."""

    query: Query
    tables: tuple[pa.Table, pa.Table, pa.Table]

    @cached_property
    def lifted(self) -> list[Grouped]:
        """The partial of each."""
        return [_lift(self.query, rows) for rows in self.tables]

    @cached_property
    def answers(self) -> list[list[str]]:
        """The answer of each."""
        return [_answer(self.query, lifted) for lifted in self.lifted]


def it_describes_itself(query: Query, schema: pa.Schema) -> None:
    """The description is JSON, since it is the fingerprint in checkpoints, and the kind is a name."""
    del schema
    described = dict(query.describe())
    expect(json.loads(json.dumps(described, allow_nan=False)), described)
    expect(isinstance(query.kind, str) and bool(query.kind), True)


def it_accepts_its_schema(query: Query, schema: pa.Schema) -> None:
    """``check`` raises nothing on records that the query can run on, its expressions computed."""
    computed = prepare(query, (), schema.empty_table()).schema
    query.check(pa.schema([field for field in computed if field.name not in {ID, GROUP}]))


def inputs_are_columns(query: Query, schema: pa.Schema) -> None:
    """What ``inputs`` names is there: columns of the records, expressions, or the record id if it is asked for."""
    if query.selection is not None:
        have = prepare(query, (), schema.empty_table()).column_names
        expect([name for name in query.selection.inputs() if name not in have], [])


def select_reads_inputs_only(query: Query, schema: pa.Schema) -> None:
    """``select`` gets the columns that ``inputs`` names, and no others."""
    if (selection := query.selection) is not None:
        rows = prepare(query, (), schema.empty_table()).select(list(selection.inputs()))
        expect(selection.select(rows, Groups.whole(0)).tolist(), [])


def invalid_reads_what_is_said_only(query: Query, schema: pa.Schema) -> None:
    """Where ``reads`` names columns, ``invalid`` gets those, and no others but keys and time."""
    if (reads := query.reads()) is not None and not query.selective:
        rows = prepare(query, (), schema.empty_table()).select(list(reads))
        expect([invalid.reason for invalid in query.invalid(rows) if invalid.mask.any()], [])


def added_columns_are_named(query: Query, schema: pa.Schema) -> None:
    """``added_columns`` are those columns of the answer that the records do not have."""
    answer = _lower(query, _lift(query, prepare(query, (), schema.empty_table())))
    named, have = set(query.added_columns()), {n for n in answer.table.column_names if not n.startswith(PREFIX)}
    expect(sorted(named - have), [])
    expect(sorted(have - named - set(schema.names)), [])


def answer_equals_reference(query: Query, pieces: Pieces) -> None:
    """``lower(lift(rows))`` is what the slow obvious reference says."""
    for rows, answer in zip(pieces.tables, pieces.answers, strict=True):
        expect(answer, row_texts(query.reference(rows.to_pylist())))


def cuts_do_not_show(query: Query, pieces: Pieces) -> None:
    """Rows may be cut into partials anywhere: combining ``lift`` of the pieces answers like ``lift`` of all rows."""
    whole = _lift(query, pa.concat_tables(pieces.tables))
    expect(_answer(query, _combine(query, *pieces.lifted)), _answer(query, whole))


def combine_is_associative(query: Query, pieces: Pieces) -> None:
    """``(a + b) + c`` answers like ``a + (b + c)``."""
    a, b, c = pieces.lifted
    left = _combine(query, _combine(query, a, b), c)
    expect(_answer(query, left), _answer(query, _combine(query, a, _combine(query, b, c))))


def combine_is_commutative(query: Query, pieces: Pieces) -> None:
    """The order of partials does not matter."""
    a, b, c = pieces.lifted
    expect(_answer(query, _combine(query, a, b, c)), _answer(query, _combine(query, c, a, b)))


def combining_one_partial_changes_nothing(query: Query, pieces: Pieces) -> None:
    """A partial that is combined with nothing stays what it was."""
    for lifted, answer in zip(pieces.lifted, pieces.answers, strict=True):
        expect(_answer(query, _combine(query, lifted)), answer)


def groups_are_independent(query: Query, pieces: Pieces) -> None:
    """Many groups in one call give what each gives alone, however their rows were mixed."""
    present = [index for index, rows in enumerate(pieces.tables) if rows.num_rows]
    if not present:
        return
    lifted = _lift(query, *(pieces.tables[index] for index in present))
    expect(len(lifted.groups), len(present))
    lowered = _lower(query, lifted)
    expect(len(lowered.groups), len(present))
    for group, index in enumerate(present):
        expect(row_texts(_group(lowered, group).to_pylist()), pieces.answers[index])


def empty_groups_give_nothing(query: Query, pieces: Pieces) -> None:
    """A group without rows has a partial without rows, and no answer."""
    first, second, _ = pieces.tables
    empty = first.slice(0, 0)
    parts = [first, empty, second, empty]
    rows, groups = pa.concat_tables(parts), Groups.from_sizes([part.num_rows for part in parts])
    for call in (query.lift, query.combine, query.lower):
        rows, groups = call(rows, groups)
        expect(len(groups), len(parts))
        expect(groups.sizes[[1, 3]].tolist(), [0, 0])


def partials_keep_their_schema(query: Query, pieces: Pieces) -> None:
    """Partials have one schema, with or without rows, lifted or combined: they are stored and concatenated."""
    schema = _lift(query, pieces.tables[0].slice(0, 0)).table.schema
    for lifted in pieces.lifted:
        expect(lifted.table.schema, schema)
        expect(_combine(query, lifted, lifted).table.schema, schema)


def selections_select(query: Query, pieces: Pieces) -> None:
    """A selective query answers with rows of its input, each at most as often as it was there."""
    if not query.selective:
        return
    for rows, lifted in zip(pieces.tables, pieces.lifted, strict=True):
        have = Counter(row_texts(rows.to_pylist()))
        chosen = Counter(row_texts(_lower(query, lifted).table.select(rows.column_names).to_pylist()))
        expect(chosen - have, Counter())


def partials_of_dominance_are_skylines(query: Query, pieces: Pieces) -> None:
    """With ``dominance``, a partial is the skyline of its rows by the numbers of ``matrix``."""
    if (dominance := query.dominance) is None:
        return
    for rows, lifted in zip(pieces.tables, pieces.lifted, strict=True):
        values = dominance.matrix(rows.select(list(dominance.inputs())))
        skyline = rows.take(pa.array(reference.skyline(values)))
        expect(row_texts(lifted.table.to_pylist()), row_texts(skyline.to_pylist()))


def answers_are_partials_where_it_is_said(query: Query, pieces: Pieces) -> None:
    """With ``answer_is_partial``, ``lower`` changes nothing."""
    if query.answer_is_partial:
        expect(pieces.answers, [row_texts(lifted.table.to_pylist()) for lifted in pieces.lifted])


DECLARED: tuple[Callable[[Query, pa.Schema], None], ...] = (
    it_describes_itself,
    it_accepts_its_schema,
    inputs_are_columns,
    select_reads_inputs_only,
    invalid_reads_what_is_said_only,
    added_columns_are_named,
)
ALGEBRA: tuple[Callable[[Query, Pieces], None], ...] = (
    answer_equals_reference,
    cuts_do_not_show,
    combine_is_associative,
    combine_is_commutative,
    combining_one_partial_changes_nothing,
    groups_are_independent,
    empty_groups_give_nothing,
    partials_keep_their_schema,
    selections_select,
    partials_of_dominance_are_skylines,
    answers_are_partials_where_it_is_said,
)


def check_query(query: Query, schema: pa.Schema, row: st.SearchStrategy[Row], *, max_examples: int = 200) -> None:
    """Check every law on generated rows; raise :class:`~skypane.testing.law.LawBroken` if one does not hold.

    Rows that the query itself calls invalid are quarantined, as the stages do. Expressions of the query must be plain
    column names here: only Spark evaluates SQL.
    """
    uphold(DECLARED, query, schema)
    piece = st.lists(row, max_size=10).map(lambda rows: _usable(query, pa.Table.from_pylist(rows, schema)))
    for_all(ALGEBRA, query, st.tuples(piece, piece, piece).map(partial(Pieces, query)), max_examples)
    for_all((answers_equal_reference_in_every_window,), query, runs(schema, row), max_examples)


def _usable(query: Query, rows: pa.Table) -> pa.Table:
    """The rows with their internal columns, without those that the stages would quarantine."""
    prepared = prepare(query, (), rows)
    return prepared.filter(usable(query, prepared))


def _lift(query: Query, *panes: pa.Table) -> Grouped:
    """Lift the rows of some panes together, mixed, as the pane stage does."""
    pane = np.repeat(np.arange(len(panes), dtype=np.int64), [rows.num_rows for rows in panes])
    mixed = np.arange(len(pane))[::-1]
    table = pa.concat_tables(panes).append_column(PANE, pa.array(pane)).take(pa.array(mixed))
    return reduce.lift(query, table, sort_by(pane[mixed], np.zeros(len(pane), np.int64)), FRAME)


def _combine(query: Query, *partials: Grouped) -> Grouped:
    """Combine partials into one, as the window stage does for the panes of a window."""
    table = pa.concat_tables([one.table for one in partials])
    one = np.zeros(table.num_rows, dtype=np.int64)
    return reduce.combine(query, table, sort_by(one, one), FRAME)


def _lower(query: Query, partials: Grouped) -> Grouped:
    answer, _ = query.answer(partials.table, partials.groups, Frames.unknown(len(partials.groups)))
    return answer


def _answer(query: Query, partials: Grouped) -> list[str]:
    return row_texts(_lower(query, partials).table.to_pylist())


def _group(grouped: Grouped, index: int) -> pa.Table:
    low, high = grouped.groups.offsets[index], grouped.groups.offsets[index + 1]
    return grouped.table.slice(low, high - low)
