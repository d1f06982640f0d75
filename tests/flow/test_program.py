"""A program keeps no state, so that tasks and threads can share it, and travels to workers as its definition."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from pyspark import cloudpickle

from skypane.flow.definition import Definition
from skypane.flow.program import Program
from skypane.flow.windows.emit.updates import Updates
from skypane.flow.windows.slide.base import Answers, Firing
from skypane.flow.windows.slide.choice import slide_for
from skypane.local.preparation import prepare
from skypane.model.columns import GROUP, ID, PANE
from skypane.model.groups import Groups
from skypane.model.live import LiveSpec
from skypane.model.panes import Span
from skypane.model.row_windows import RowWindows
from skypane.model.windows import WindowSpec
from skypane.queries.aggregates import Aggregates
from skypane.queries.apply import Apply
from skypane.queries.base import Grouped
from skypane.queries.preferences import Preferences
from skypane.queries.skyline import Skyline
from tests.support import functions as samples

COUNTS, SKYLINE = Aggregates.of({"n": "count"}), Skyline(Preferences.of("a", ()))
PICKY = Apply.of(samples.picky, pa.schema([*samples.BOUNDS, ("starts", pa.int64())]))
PROGRAMS = [
    Definition(COUNTS, WindowSpec(4, 1), "ts", ("key",)),
    Definition(SKYLINE, WindowSpec(4, 1), "ts", processing="in_order"),
    Definition(PICKY, RowWindows(3, 1), "ts", ("key",)),
    Definition(SKYLINE, LiveSpec(4, 1), "ts", emit=Updates()),
]


@pytest.mark.parametrize("definition", PROGRAMS, ids=lambda definition: Program.of(definition).processing.name)
def test_a_program_travels_as_its_definition(definition: Definition) -> None:
    program = Program.of(definition)
    sent = cloudpickle.dumps(program)  # type: ignore[no-untyped-call]
    assert len(sent) < len(cloudpickle.dumps(definition)) + 100  # type: ignore[no-untyped-call]
    there = cloudpickle.loads(sent)
    assert type(there.processing) is type(program.processing)
    assert there.definition.describe() == definition.describe()
    records = pa.schema([("ts", pa.timestamp("us", "UTC")), ("key", pa.string()), ("a", pa.float64())])
    with_id = definition.needs_record_id
    seen = prepare(definition.query, definition.keys, records.empty_table(), with_id=with_id).schema
    assert there.processing.result_schema(seen) == program.processing.result_schema(seen)


def test_a_slide_returns_what_failed_and_remembers_nothing() -> None:
    """Two keys, one record in each of ten panes of half a second; the function fails on two windows of each key."""
    definition = Definition(PICKY, WindowSpec(500_000, 500_000), "ts", ("key",), sets_aside=True)
    pane = np.tile(np.arange(10), 2)
    columns = {"ts": pa.array(pane * 500_000).cast(pa.timestamp("us", "UTC")), "key": ["x"] * 10 + ["y"] * 10}
    ids = {"n": pane, ID: pane, GROUP: np.zeros(20, dtype=np.int32), PANE: pane}
    panes = Grouped(pa.table({**columns, **ids}), Groups(np.arange(21)))
    slide = slide_for(definition)
    before = dict(vars(slide))
    firing = Firing(panes, Span(first=0, end=10, sealed_before=10, joined_before=0))

    def fired() -> tuple[list[int], list[int]]:
        answers: Answers = slide.fire(firing, 10)
        assert answers.failed is not None
        return sorted(answers.failed.window_ids.tolist()), [w for one in answers.fired for w in one.window_ids.tolist()]

    first = fired()
    assert first[0] == [3, 3, 8, 8]
    assert fired() == first
    assert vars(slide) == before
