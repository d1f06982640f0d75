"""The law suite for folds: those that keep their promises pass, each broken promise is told by name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import strategies as st

from skypane.model.errors import OptionError
from skypane.queries.base import Query
from skypane.queries.fold import Fold
from skypane.testing import LawBroken, check_fold, check_query
from tests.support import functions as samples

SAMPLES = pa.table({"n": [0, 1, 2, 5, 8, 13], "x": [0.0, 1.5, None, 2.0, -1.0, 7.25]})
ROW = st.fixed_dictionaries({"n": st.integers(-100, 100), "x": st.sampled_from([0.0, 0.5, None])})
TOTAL = Fold(
    {"total": 0},
    lambda state, records: {"total": state["total"] + sum(records.column("n").to_pylist())},
    lambda left, right: {"total": left["total"] + right["total"]},
    combine=("commutative", "invertible"),
    inverse=lambda total, left: {"total": total["total"] - left["total"]},
)


@pytest.mark.parametrize("fold", [samples.MOMENTS, samples.EXTREMES, samples.ORDERED, TOTAL, Fold(**samples.DIGEST)])
def test_folds_that_keep_their_promises(fold: Fold) -> None:
    check_fold(fold, SAMPLES, max_examples=15)


def last(left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
    del left
    return right


@pytest.mark.parametrize(
    ("fold", "law"),
    [
        (replace(TOTAL, init={"total": 7}), "merge_is_update"),
        (replace(TOTAL, merge=last, combine=(), inverse=None), "merge_is_update"),
        (replace(samples.ORDERED, combine="commutative"), "order_does_not_matter_if_commutative"),
        (replace(TOTAL, combine=("idempotent",), inverse=None), "merging_with_itself_changes_nothing_if_idempotent"),
        (replace(TOTAL, inverse=last), "inverse_takes_away_if_invertible"),
        (
            Fold({"batches": 0}, lambda state, records: {"batches": state["batches"] + (1 if records else 0)}),
            "batches_do_not_show",
        ),
    ],
)
def test_broken_promises_are_told_by_name(fold: Fold, law: str) -> None:
    with pytest.raises(LawBroken, match=law):
        check_fold(fold, SAMPLES, max_examples=30)


@pytest.mark.parametrize("none", [SAMPLES.slice(0, 0), SAMPLES.to_pandas(), []])
def test_samples_are_a_table_with_records(none: Any) -> None:
    with pytest.raises(OptionError, match="samples must be an Arrow table with records"):
        check_fold(TOTAL, none)


@pytest.mark.parametrize("name", ["bounds", "every other", "by parity", "moments", "extremes"])
def test_queries_of_functions_keep_the_laws_of_queries(name: str) -> None:
    """But for merges in order: pieces of the suite have no time, so they have no order."""
    query: Query = samples.QUERIES[name]
    check_query(query, SAMPLES.schema, ROW, max_examples=15)
