"""What ``distinct_by``, ``within`` and ``duplicates`` take, and how they say what they do not take."""

from __future__ import annotations

from typing import Any

import pytest

import skypane as sp
from skypane.api.options.run_options import RunOptions
from skypane.api.stream import describe_stream
from skypane.flow.distinct.distinct import Distinct
from skypane.model.errors import OptionError


def stream(**options: Any) -> Any:
    return describe_stream(time="ts", **options)


def test_an_id_is_one_column_or_several() -> None:
    assert stream(distinct_by="offer", within="1 minute").distinct == Distinct(("offer",), 60_000_000)
    assert stream(distinct_by=["shop", "offer"], within="0 seconds").distinct == Distinct(("shop", "offer"), 0)
    assert stream().distinct is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"distinct_by": "offer"}, r"distinct_by=\['offer'\] needs within"),
        ({"within": "1 minute"}, r"within='1 minute' needs distinct_by"),
        ({"distinct_by": [], "within": "1 minute"}, "names no column"),
        ({"distinct_by": ["a", "a"], "within": "1 minute"}, "names a column twice"),
        ({"distinct_by": 3, "within": "1 minute"}, "distinct_by=3 must be a name or a list of names"),
        ({"distinct_by": "a", "within": 3}, "within=3 must be a duration"),
        ({"distinct_by": "a", "within": "-1 s"}, "within"),
    ],
)
def test_mistakes_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        stream(**options)


def test_what_does_not_go_together_is_refused() -> None:
    plain = stream().window("1 s").aggregate(n="count")
    with pytest.raises(OptionError, match="duplicates= is for streams with an id"):
        plain.plan(RunOptions(sp.ConsoleSink(), duplicates=sp.ConsoleSink()), slots=1)
    query = stream(distinct_by="a", within="1 s").window("1 s").aggregate(n="count")
    run = RunOptions(sp.ConsoleSink(), duplicates=sp.ConsoleSink())
    for given in ({"tuning": sp.Tuning(splitting="pane_rr")}, {"pattern": sp.PaneFarm(2, 2)}):
        with pytest.raises(OptionError, match="distinct_by: records with one id must meet"):
            query.parallel(**given).plan(run, slots=2)
    assert query.parallel(elastic=True).plan(run, slots=2)[0].distinct == Distinct(("a",), 1_000_000)
