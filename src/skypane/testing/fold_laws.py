"""The law suite for folds: what a fold promises, checked on samples of the user's.

    from skypane.testing import check_fold

    def test_my_fold() -> None:
        check_fold(MY_FOLD, samples)  # an Arrow table of records

Each law is a function of a fold and of stretches of records; its docstring is the law. States are compared by what
``finish`` makes of them, floating-point numbers to eleven digits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from skypane.model.errors import OptionError
from skypane.model.window import Window
from skypane.queries.base import Row
from skypane.queries.fold import Fold
from skypane.queries.folded import FoldedRecords, fold_query
from skypane.queries.functions.state import State
from skypane.testing.law import expect, for_all
from skypane.testing.oracle import row_texts
from skypane.testing.query_runs import answers_equal_reference_in_every_window, runs


@dataclass(frozen=True)
class Stretches:
    """Three stretches of records, one after the other; and how to shuffle them."""

    fold: Fold
    tables: tuple[pa.Table, pa.Table, pa.Table]
    order: tuple[int, ...]
    """Numbers of rows in any order, perhaps of more than there are."""

    def state(self, *records: pa.Table) -> State:
        """The state of some stretches, each a batch of its own."""
        state, update = self.fold.first(), self.fold.calls["update"]
        for table in records:
            state = self.stored(update(state, None, table))
        return state

    def whole(self, *records: pa.Table) -> State:
        """The state of some stretches as one batch."""
        return self.state(pa.concat_tables(records))

    def merged(self, left: State, right: State, by: str = "merge") -> State:
        """Two states as one."""
        return self.stored(self.fold.calls[by](left, None, right))

    def stored(self, state: Any) -> State:
        """As it comes back from a file: a copy, so that a function may change its own in place."""
        return self.fold.state_type.from_table(self.fold.state_type.to_table([state]))[0]

    def answer(self, state: State) -> list[str]:
        """What users see of a state."""
        query = FoldedRecords(self.fold)
        return row_texts(query.finished(self.stored(state), (), Window(0, 0)).to_pylist())


def batches_do_not_show(fold: Fold, case: Stretches) -> None:
    """Records may come to ``update`` in one batch or in several, in their order."""
    del fold
    expect(case.answer(case.state(*case.tables)), case.answer(case.whole(*case.tables)))


def merge_is_update(fold: Fold, case: Stretches) -> None:
    """``merge`` of the states of two stretches is the state of both: ``merge(fold(a), fold(b)) == fold(a + b)``."""
    if fold.merge is not None:
        a, b, _ = case.tables
        expect(case.answer(case.merged(case.state(a), case.state(b))), case.answer(case.whole(a, b)))


def merge_is_associative(fold: Fold, case: Stretches) -> None:
    """``merge(merge(a, b), c) == merge(a, merge(b, c))``."""
    if fold.merge is not None:
        (a, b, c), (d, e, f) = map(case.state, case.tables), map(case.state, case.tables)
        left, right = case.merged(case.merged(a, b), c), case.merged(d, case.merged(e, f))
        expect(case.answer(left), case.answer(right))


def order_does_not_matter_if_commutative(fold: Fold, case: Stretches) -> None:
    """With ``combine="commutative"``, neither the order of records nor that of merged states changes the answer."""
    if fold.commutative:
        a, b = case.state(case.tables[0]), case.state(case.tables[1])
        expect(case.answer(case.merged(a, b)), case.answer(case.merged(case.stored(b), case.stored(a))))
        every = pa.concat_tables(case.tables)
        shuffled = every.take(pa.array([place for place in case.order if place < every.num_rows], pa.int64()))
        expect(case.answer(case.whole(shuffled)), case.answer(case.whole(every)))


def merging_with_itself_changes_nothing_if_idempotent(fold: Fold, case: Stretches) -> None:
    """With ``combine="idempotent"``, ``merge(a, a) == a``."""
    if "idempotent" in fold.combine:
        a = case.state(case.tables[0])
        expect(case.answer(case.merged(case.stored(a), case.stored(a))), case.answer(a))


def inverse_takes_away_if_invertible(fold: Fold, case: Stretches) -> None:
    """With ``combine="invertible"``, ``inverse(merge(a, b), a) == b``."""
    if "invertible" in fold.combine:
        a, b = case.state(case.tables[0]), case.state(case.tables[1])
        rest = case.merged(case.merged(case.stored(a), case.stored(b)), a, by="inverse")
        expect(case.answer(rest), case.answer(b))


LAWS: tuple[Callable[[Fold, Stretches], None], ...] = (
    batches_do_not_show,
    merge_is_update,
    merge_is_associative,
    order_does_not_matter_if_commutative,
    merging_with_itself_changes_nothing_if_idempotent,
    inverse_takes_away_if_invertible,
)


def check_fold(
    fold: Fold, samples: pa.Table, row: st.SearchStrategy[Row] | None = None, *, max_examples: int = 100
) -> None:
    """Check every law on stretches of the samples, and the fold in a running query against one ``update`` of all.

    row: makes records of the samples' schema, instead of taking the samples themselves.
    """
    fold = Fold.of(fold)
    if not isinstance(samples, pa.Table) or not (samples.num_rows or row):
        raise OptionError("samples must be an Arrow table with records: stretches of them are what the fold gets.")
    schema = samples.schema
    record = st.sampled_from(samples.to_pylist()) if row is None else row
    stretch = st.lists(record, min_size=1, max_size=6).map(lambda rows: pa.Table.from_pylist(rows, schema))
    order = st.permutations(range(18)).map(tuple)
    cases = st.builds(partial(Stretches, fold), st.tuples(stretch, stretch, stretch), order)
    for_all(LAWS, fold, cases, max_examples)
    for_all((answers_equal_reference_in_every_window,), fold_query(fold), runs(schema, record), max_examples)
