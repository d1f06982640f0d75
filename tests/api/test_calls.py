"""A call that does not fit is refused with an example of one that does."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

import skypane as sp
from skypane.api.stream import describe_stream
from skypane.model.errors import OptionError

STREAM: Any = describe_stream(time="ts")
WINDOWED: Any = STREAM.window("1 second")
QUERY: Any = WINDOWED.skyline(minimize="a")
ANY: Any = sp


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        (lambda: ANY.stream(None), r"stream\(\): missing .* 'time'\. Write e\.g\. sp\.stream\(df, time='ts', key='c"),
        (lambda: ANY.stream(None, "ts"), r"too many positional arguments\. Write e\.g\. sp\.stream\(df, time='ts'"),
        (
            lambda: ANY.stream(None, time="ts", keys="a"),
            r"keys= is unknown\. Did you mean 'key'\? Write e\.g\. sp\.str",
        ),
        (lambda: ANY.stream(None, timestamp="ts"), r"timestamp= is unknown\. Did you mean 'time'\?"),
        (STREAM.window, r"window\(\): missing .* 'size'\. Write e\.g\. \.window\('10 seconds', slide="),
        (lambda: STREAM.window("1 s", step="1 s"), r"step= is unknown\. Write e\.g\. \.window\("),
        (lambda: WINDOWED.skyline("price"), r"Write e\.g\. \.skyline\(minimize=\['price'\], maximize=\['stars'\]\)\."),
        (lambda: WINDOWED.skyline(minimise="a"), r"minimise= is unknown\. Did you mean 'minimize'\?"),
        (lambda: WINDOWED.top_k(5), r"missing .* 'score'\. Write e\.g\. \.top_k\(5, score='stars / price'\)\."),
        (lambda: WINDOWED.top_delta(minimize="a"), r"'delta'\. Write e\.g\. \.top_delta\(5, minimize="),
        (lambda: WINDOWED.aggregate("count"), r"Write e\.g\. \.aggregate\(n='count', p='mean\(price\)'\)\."),
        (lambda: WINDOWED.apply(len), r"'schema'\. Write e\.g\. \.apply\(function, 'median double, n long'\)\."),
        (QUERY.start, r"missing .* 'sink'\. Write e\.g\. \.start\(sink=sp\.ParquetSink\('answers'\), check"),
        (lambda: QUERY.start("out"), r"too many positional arguments\. Write e\.g\. \.start\(sink="),
        (lambda: QUERY.parallel(4), r"Write e\.g\. \.parallel\(degree=4\)\."),
        (QUERY.emit, r"'what'\. Write e\.g\. \.emit\('changes'\)\."),
        (lambda: QUERY.start(processingTime="5 s"), r"is unknown: write \.start\(trigger='5 seconds'\)\."),
        (lambda: QUERY.start(checkpointLocation="c"), r"write \.start\(checkpoint='checkpoint'\)\."),
        (lambda: QUERY.start(outputMode="append"), r"answers are appended; \.emit\('changes'\)"),
        (lambda: QUERY.lateness(10), r"lateness\(10\): give a policy .*, or how long to wait, such as '10 seconds'"),
        (lambda: QUERY.lateness(sp.FixedDelay), r"give a policy such as sp\.FixedDelay\(\.\.\.\)"),
        (lambda: QUERY.lateness("KSlack"), r"'KSlack' is unknown\. Did you mean 'kslack'\? .*a duration to wait"),
        (lambda: QUERY.lateness("10 sekonds"), r"='10 sekonds': unknown unit 'sekonds'"),
        (lambda: QUERY.emit("update"), r"Did you mean 'updates'\?"),
    ],
)
def test_it_is_refused_with_an_example(call: Callable[[], object], wanted: str) -> None:
    with pytest.raises(OptionError, match=wanted):
        call()


@pytest.mark.parametrize("wait", ["10 seconds", " 10s", "INTERVAL 10 seconds", timedelta(seconds=10)])
def test_a_duration_is_a_fixed_delay(wait: Any) -> None:
    assert QUERY.lateness(wait).lateness_options.policy == sp.FixedDelay(wait)


@pytest.mark.parametrize(
    ("records", "wanted"),
    [
        (None, "not a builtins.NoneType"),
        ("topic", "not a builtins.str"),
        ([1], "For one table, once, use sp.skyline"),
    ],
)
def test_what_is_no_streaming_dataframe_is_refused_at_once(records: Any, wanted: str) -> None:
    with pytest.raises(OptionError, match=rf"needs a streaming DataFrame .*{wanted}"):
        sp.stream(records, time="ts")
