"""Late records: corrected answers, judgements of harm, and in-order processing, against the oracle."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from skypane.flow.definition import Definition
from skypane.kernels import sliding
from skypane.local.preparation import prepare
from skypane.model.windows import WindowSpec
from skypane.queries.base import Query
from skypane.queries.preferences import Preferences
from skypane.queries.skyline import Skyline
from skypane.queries.top_delta import TopDelta
from skypane.queries.top_k import TopK
from skypane.testing.oracle import actual_answers, as_text, expected_answers, micros
from tests.support.engine_runs import Rows, accepted_of, batches, last_revisions, run
from tests.support.strategies import SCHEMA, queries, streams, windows

cuts_of_streams = st.lists(st.integers(0, 60), max_size=8)


@settings(max_examples=150, deadline=None)
@given(
    rows=streams(),
    query=queries,
    spec=windows,
    keys=st.sampled_from([(), ("key",)]),
    allowed_us=st.sampled_from([1, 400_000, 3_000_000]),
    slide=st.sampled_from(["auto", "recompute"]),
    big_key_rows=st.sampled_from([2, sliding.BIG_KEY_ROWS]),
    cuts=cuts_of_streams,
)
def test_the_last_revisions_equal_the_oracle_over_accepted_records(
    rows: Rows,
    query: Query,
    spec: tuple[int, int],
    keys: tuple[str, ...],
    allowed_us: int,
    slide: str,
    big_key_rows: int,
    cuts: list[int],
) -> None:
    sliding.BIG_KEY_ROWS = big_key_rows
    definition = Definition(query, WindowSpec(*spec), "ts", keys, sliding=slide, allowed_lateness_us=allowed_us)
    outputs = run(definition, rows, cuts, degree=2)
    assert last_revisions(definition, outputs) == expected_answers(definition, accepted_of(rows, outputs))


@settings(max_examples=100, deadline=None)
@given(rows=streams(), query=queries, spec=windows, keys=st.sampled_from([(), ("key",)]), cuts=cuts_of_streams)
def test_in_order_processing_gives_the_same_answers(
    rows: Rows, query: Query, spec: tuple[int, int], keys: tuple[str, ...], cuts: list[int]
) -> None:
    definition = Definition(query, WindowSpec(*spec), "ts", keys, harm_horizon_us=10**9)
    out_of_order = run(definition, rows, cuts, degree=2)
    in_order = run(replace(definition, processing="in_order"), rows, cuts, degree=2)
    assert [o.ledger for o in in_order] == [o.ledger for o in out_of_order]
    for one, other in zip(in_order, out_of_order, strict=True):
        assert actual_answers(definition, one.answers) == actual_answers(definition, other.answers)
        assert as_text(definition, [r for t in one.late for r in t.to_pylist()]) == as_text(
            definition, [r for t in other.late for r in t.to_pylist()]
        )


PREFERENCES = Preferences(("a",), ("b",))


@settings(max_examples=150, deadline=None)
@given(
    rows=streams(),
    query=st.sampled_from([Skyline(PREFERENCES), TopDelta(2, PREFERENCES), TopK(2, "a")]),
    spec=windows,
    keys=st.sampled_from([(), ("key",)]),
    horizon_us=st.sampled_from([300_000, 10**9]),
    big_key_rows=st.sampled_from([2, sliding.BIG_KEY_ROWS]),
    cuts=cuts_of_streams,
)
def test_harmful_are_the_late_records_that_a_window_would_have_selected(
    rows: Rows,
    query: Query,
    spec: tuple[int, int],
    keys: tuple[str, ...],
    horizon_us: int,
    big_key_rows: int,
    cuts: list[int],
) -> None:
    sliding.BIG_KEY_ROWS = big_key_rows
    window = WindowSpec(*spec)
    definition = Definition(query, window, "ts", keys, harm_horizon_us=horizon_us)
    outputs = run(definition, rows, cuts, degree=2)
    accepted: Rows = []
    # What stays in a window's partial: for top-delta that is the skyline, from which it is cut.
    selects = Skyline(PREFERENCES) if isinstance(query, TopDelta) else query
    for batch, output in zip(batches(rows, cuts), outputs, strict=False):
        late_rows = [r for table in output.late for r in table.to_pylist()]
        late = {r["n"]: r["harmful"] for r in late_rows}
        # Nobody can tell what a record would have changed once the panes of its time have been forgotten.
        forgotten = {
            r["n"]
            for r in late_rows
            if micros(r["ts"]) // window.pane_us < window.sealed_before(micros(r["watermark"]) - horizon_us)
        }
        lost = {r["n"] for table in (*output.late, *output.quarantined) for r in table.to_pylist()}
        accepted += [r for r in batch if r["n"] not in lost]
        known = prepare(
            query, keys, pa.Table.from_pylist([*accepted, *(r for r in batch if r["n"] in late)], SCHEMA)
        ).to_pylist()
        expected = dict.fromkeys(late, False)
        for row in (r for r in known if r["n"] in late):
            time = micros(row["ts"])
            start = time // window.slide_us * window.slide_us
            while start > time - window.size_us:
                members = [
                    r
                    for r in known
                    if start <= micros(r["ts"]) < start + window.size_us and all(r[k] == row[k] for k in keys)
                ]
                expected[row["n"]] |= row["n"] in {r["n"] for r in selects.reference(members)}
                start -= window.slide_us
        assert late == {n: None if n in forgotten else harmful for n, harmful in expected.items()}
