"""Who asks for a method of Spark's is told what to write; to everything else such a name is just missing."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import skypane as sp
from skypane.api.stream import describe_stream

STREAM = describe_stream(time="ts", key="city")
WINDOWED = STREAM.window("1 second")
QUERY = WINDOWED.skyline(minimize="price")
STEPS: dict[str, Any] = {"Stream": STREAM, "Windowed": WINDOWED, "ContinuousQuery": QUERY}
RUNNING: Any = sp.RunningQuery.__new__(sp.RunningQuery)
"""A handle without a run: names are looked up in its class."""

BEFORE, SINK = "Use it on the DataFrame, before", "Answers go to a sink: write .start("
HABITS = {
    "count": ".aggregate(n='count'",
    "agg": ".aggregate(n='count'",
    "show": "sink=sp.ConsoleSink()",
    "collect": "sp.MemorySink('answers')",
    "withWatermark": ".lateness('10 seconds')",
    "groupBy": "sp.stream(df, time='ts', key='city')",
    "writeStream": SINK,
    "toTable": SINK,
    "foreachBatch": "a function of (DataFrame, step)",
    "select": BEFORE,
    "filter": BEFORE,
    "where": BEFORE,
    "awaitTermination": ".start(sink=...).await_termination()",
    "await_termination": "It belongs to another step: write sp.stream(df, time='ts').window('1 minute').",
}


@pytest.mark.parametrize("kind", STEPS)
@pytest.mark.parametrize(("name", "advice"), HABITS.items())
def test_a_method_of_spark_is_answered_with_what_to_write(kind: str, name: str, advice: str) -> None:
    with pytest.raises(AttributeError) as error:
        getattr(STEPS[kind], name)
    assert str(error.value).startswith(f"'{kind}' object has no attribute '{name}'. ")
    assert advice in str(error.value)


@pytest.mark.parametrize(
    ("step", "name", "advice"),
    [
        (STREAM, "skyline", "write sp.stream(df, time='ts').window('1 minute').skyline(...)."),
        (STREAM, "start", ".skyline(minimize=['price']).start(...)."),
        (WINDOWED, "lateness", ".skyline(minimize=['price']).lateness(...)."),
        (QUERY, "window", "write sp.stream(df, time='ts').window(...)."),
        (QUERY, "stop", ".start(sink=sp.ConsoleSink()).stop(...)."),
        (WINDOWED, "skylines", "Did you mean 'skyline'?"),
        (QUERY, "Emit", "Did you mean 'emit'?"),
        (RUNNING, "awaitTermination", "Write await_termination()."),
        (RUNNING, "isActive", "Write is_active."),
        (RUNNING, "lastProgress", "are in metrics()"),
        (RUNNING, "show", SINK),
    ],
)
def test_steps_of_the_chain_and_misspelt_names(step: Any, name: str, advice: str) -> None:
    with pytest.raises(AttributeError) as error:
        getattr(step, name)
    assert str(error.value).endswith(advice) or advice in str(error.value)


@pytest.mark.parametrize("step", [*STEPS.values(), RUNNING])
def test_a_name_that_nobody_knows_is_just_missing(step: Any) -> None:
    for name in ("quixotic", "_repr_html_", "_ipython_display_", "__deepcopy__", "__array__"):
        assert not hasattr(step, name)
        with pytest.raises(AttributeError, match=rf"object has no attribute '{name}'$"):
            getattr(step, name)
    assert getattr(step, "count", None) is None


@pytest.mark.parametrize("step", STEPS.values())
def test_copies_and_pickles_are_equal(step: Any) -> None:
    assert copy.copy(step) == step
    assert copy.deepcopy(step) == step
    assert pickle.loads(pickle.dumps(step)) == step
    assert "count" not in dir(step)
    assert type(step).__name__ in repr(step)
