"""Aggregate functions: how they are called, what is refused, and how far approximate ones may be off."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skypane.flow.definition import Definition
from skypane.flow.program import Program
from skypane.flow.windows.emit.differences import check_comparable
from skypane.local.preparation import prepare
from skypane.model.errors import OptionError, SchemaError
from skypane.model.groups import Groups
from skypane.model.windows import WindowSpec
from skypane.queries.accumulators.base import Inputs
from skypane.queries.accumulators.functions import call, split_arguments
from skypane.queries.aggregates import Aggregates

RECORDS = 30_000


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a", ["a"]),
        ("greatest(a, b), 5", ["greatest(a, b)", "5"]),
        ("concat(a, ',)'), array(0.1, 0.2) , 7", ["concat(a, ',)')", "array(0.1, 0.2)", "7"]),
        ('`a,b`, m["x,y"]', ["`a,b`", 'm["x,y"]']),
        ("a,", ["a", ""]),
        (r"replace(x, '\'', ','), n", [r"replace(x, '\'', ',')", "n"]),
        (r"'\\', n", [r"'\\'", "n"]),
        (r"`a\`, n", [r"`a\`", "n"]),
    ],
)
def test_arguments_are_split_at_their_own_commas(text: str, parts: list[str]) -> None:
    assert split_arguments(text) == parts


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("collect_list(a)", r"has 1 arguments: write collect_list\(expression, limit\)"),
        ("collect_list(a, 0)", "the limit must be a whole number, 1 or more, not '0'"),
        ("collect_set(a, b)", "the limit must be a whole number, 1 or more, not 'b'"),
        ("min_by(a)", r"has 1 arguments: write min_by\(expression, order\)"),
        ("max_by(a, b, c)", "has 3 arguments"),
        ("first(a, maybe)", "whether to ignore nulls must be true or false, not maybe"),
        ("last", r"has no argument: write last\(expression\)"),
        ("approx_count_distinct(a, 2)", r"the relative error must be between 0.001 and 0.39, not 2.0"),
        ("approx_count_distinct(a, x)", "the relative error must be a number, not 'x'"),
        ("approx_percentile(a)", r"write approx_percentile\(expression, 0.5\)"),
        ("approx_percentile(a, 1.5)", "percentages must be between 0 and 1, not 1.5"),
        ("approx_percentile(a, array(0.5, nan))", "a percentage must be a number, not 'nan'"),
        ("approx_percentile(a, 0.5, -1)", "the accuracy must be a whole number, 1 or more, not '-1'"),
        ("median(a)", r"is not an aggregate\. median: of percentiles there is approx_percentile\(x, 0\.5\)"),
        ("count_distinct(a)", r"not an aggregate\. count_distinct: an exact count .* approx_count_distinct\(x\), "),
        ("COUNT_IF(a > 1)", r"not an aggregate\. count_if: write count\(CASE WHEN x THEN 1 END\)\. Write function"),
        ("approx_cuont_distinct(a)", r"not an aggregate\. Did you mean 'approx_count_distinct'\? Write function"),
        ("xyz(a)", r"not an aggregate\. Write function\(expression\), with one of: approx_count"),
        ("sum(a) / sum(b)", r"is not an aggregate. Write function\(expression\)"),
        ("count(*) FILTER (WHERE a > 1)", r"is not an aggregate. Write function\(expression\)"),
        ("count(DISTINCT a)", r"Use approx_count_distinct\(x\)"),
    ],
)
def test_a_wrong_call_is_told_with_the_right_one(text: str, told: str) -> None:
    with pytest.raises(OptionError, match=f"(?s)x=.*{told}"):
        Aggregates.of({"x": text}, "ts")


def test_functions_that_go_by_time_need_its_column() -> None:
    with pytest.raises(OptionError, match=r"x='first\(a\)' needs the time of each record"):
        Aggregates.of({"x": "first(a)"})


@pytest.mark.parametrize(
    ("text", "kind", "told"),
    [
        ("var_pop(a)", pa.string(), "needs numbers, not string"),
        ("approx_percentile(a, 0.5)", pa.string(), "needs numbers, dates, timestamps or day-time intervals"),
        ("collect_set(a, 3)", pa.list_(pa.int64()), "cannot order values of type list"),
        ("min_by(1, a)", pa.list_(pa.int64()), "cannot order values of type list"),
    ],
)
def test_types_that_cannot_be_aggregated_are_refused_by_name(text: str, kind: pa.DataType, told: str) -> None:
    query = Aggregates.of({"x": text}, "ts")
    with pytest.raises(SchemaError, match=f"x=.*{told}"):
        query.check(prepare(query, (), pa.table({"a": pa.array([], kind)})).schema)


def test_changes_of_lists_are_refused_by_name() -> None:
    records = pa.schema([("ts", pa.timestamp("us", "UTC")), ("a", pa.int64())])
    for text, fine in (("first(a)", True), ("collect_list(a, 3)", False), ("approx_percentile(a, array(0.5))", False)):
        query = Aggregates.of({"x": text}, "ts")
        processing = Program.of(Definition(query, WindowSpec(1, 1), "ts")).processing
        answers = processing.result_schema(prepare(query, (), records.empty_table()).schema)
        own = pa.schema([answers.field("x")])
        if fine:
            check_comparable(own)
        else:
            with pytest.raises(SchemaError, match=r"emit..changes.* compares answers, and column 'x' of type list"):
                check_comparable(own)


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 2**32), distinct=st.sampled_from([40, 600, RECORDS]), parts=st.integers(1, 9))
def test_sketches_stay_within_their_errors_and_do_not_show_the_order(seed: int, distinct: int, parts: int) -> None:
    rng = np.random.default_rng(seed)
    values, ids = rng.integers(0, distinct, RECORDS), rng.integers(-(2**63), 2**63 - 1, RECORDS)
    truth = len(np.unique(values))
    for text, estimates in (("approx_count_distinct", "x"), ("approx_percentile", "x, 0.3, 2500")):
        found = {answer(text, estimates, values, ids, rng.permutation(RECORDS), cut) for cut in (1, parts)}
        assert len(found) == 1
        (one,) = found
        if text == "approx_count_distinct":
            assert abs(one - truth) <= 5 * 0.05 * truth
        else:  # five standard errors of a rank
            share_below, share_up_to = (values < one).mean(), (values <= one).mean()
            assert share_below - 0.05 <= 0.3 <= share_up_to + 0.05


def answer(function: str, argument: str, values: Any, ids: Any, order: Any, cuts: int) -> Any:
    """The answer from parts of the records, in some order, that are merged two by two."""
    own = call(function, argument, function).accumulator
    partials = []
    for rows in np.array_split(order, cuts):
        inputs = Inputs(pa.chunked_array([values[rows]]), None, pa.chunked_array([ids[rows]]))
        partials.append(pa.table(own.lift(inputs, Groups.whole(len(rows)))))
    while len(partials) > 1:
        both = pa.concat_tables(partials[:2])
        partials = [*partials[2:], pa.table(own.combine(columns(both), Groups.whole(2)))]
    return own.lower(columns(partials[0])).to_pylist()[0]


def columns(table: pa.Table) -> dict[str, pa.ChunkedArray]:
    return dict(zip(table.column_names, table.columns, strict=True))


def test_equal_records_are_counted_in_percentiles() -> None:
    ids, values = np.array([5, 5, 5, 9, 1]), np.array([10, 10, 10, 30, 40])
    for cuts in (1, 2, 5):
        assert answer("approx_percentile", "x, 0.5, 2", values, ids, np.arange(5), cuts) == 10
        assert answer("approx_percentile", "x, 1, 2", values, ids, np.arange(5), cuts) == 40


def test_aggregates_explain_themselves_as_they_are_written() -> None:
    assert Aggregates.of({"n": "count", "kg": "sum(weight)"}).explain() == "n = count(1), kg = sum(weight)"
