"""What emit="changes" refuses, by name and with a remedy."""

from __future__ import annotations

import pyarrow as pa
import pytest

from skypane.flow.definition import Definition
from skypane.flow.windows.emit.changes import Changes
from skypane.flow.windows.emit.differences import check_comparable
from skypane.flow.windows.slide.choice import check_slide, default_slide
from skypane.model.columns import ID
from skypane.model.errors import OptionError, SchemaError
from skypane.model.windows import WindowSpec
from skypane.queries.aggregates import Aggregates
from skypane.queries.top_k import TopK

PLAIN, NESTED = pa.field("a", pa.float64()), pa.field("tags", pa.list_(pa.string()))
MANY_PANES = WindowSpec(1_000_000, 10_000)


def test_rows_that_cannot_be_told_apart_are_refused() -> None:
    check_comparable(pa.schema([PLAIN]))
    check_comparable(pa.schema([PLAIN, NESTED, pa.field(ID, pa.int64())]))
    with pytest.raises(SchemaError, match=r"column 'tags' of type list<.*cannot be compared.*F\.to_json"):
        check_comparable(pa.schema([PLAIN, NESTED]))


def test_aggregates_are_combined_from_panes_where_an_answer_must_be_repeated() -> None:
    aggregates = Definition(Aggregates.of({"total": "sum(a)"}), MANY_PANES, "ts", emit=Changes())
    assert default_slide(aggregates) == "recompute"
    assert default_slide(Definition(TopK(2, "a"), MANY_PANES, "ts", emit=Changes())) == "tiles"
    with pytest.raises(OptionError, match=r"sliding='tiles'.*emit..changes.*sliding='auto'"):
        check_slide(Definition(aggregates.query, MANY_PANES, "ts", emit=Changes(), sliding="tiles"))
