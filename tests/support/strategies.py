"""What property tests draw: streams of records, queries, windows, policies, whole definitions."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
from hypothesis import assume
from hypothesis import strategies as st

from skypane.flow.definition import Definition
from skypane.flow.windows.emit.changes import Changes
from skypane.flow.windows.emit.full import Full
from skypane.lateness.policies.fixed_delay import FixedDelay
from skypane.lateness.policies.kslack import KSlack
from skypane.lateness.policy import Lateness
from skypane.model.windows import WindowSpec
from skypane.queries.aggregates import Aggregates
from skypane.queries.base import Query
from skypane.queries.preferences import Preferences
from skypane.queries.skyline import Skyline
from skypane.queries.top_delta import TopDelta
from skypane.queries.top_k import TopK
from tests.support.functions import QUERIES

SCHEMA = pa.schema(
    [
        ("ts", pa.timestamp("us", "UTC")),
        ("key", pa.string()),
        ("n", pa.int64()),
        ("a", pa.float64()),
        ("b", pa.int64()),
    ]
)

NUMBERS = [-1.5, -0.0, 0.0, 1.0, 2.0, 3.0, 1e300, float("inf"), float("-inf"), float("nan"), None]

INTEGERS = [0, 1, 2, 3, 2**53, 2**53 + 1, -(2**63)]

preferences = Preferences(("a",), ("b",))

queries: st.SearchStrategy[Query] = st.sampled_from(
    [
        Skyline(preferences),
        TopDelta(2, preferences),
        TopK(2, "a"),
        Aggregates.of(
            {
                "n_rows": "count",
                "lo": "min(a)",
                "hi": "max(b)",
                "total": "sum(n)",
                "avg": "mean(n)",
                "sd": "stddev(n)",
            }
        ),
        Aggregates.of(
            {
                "first_a": "first(a)",
                "last_b": "last(b, true)",
                "at_least": "min_by(n, a)",
                "values": "approx_count_distinct(a)",
                "median": "approx_percentile(b, 0.5, 6)",
                "var": "var_pop(n)",
            },
            "ts",
        ),
    ]
)


@st.composite
def streams(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Records in arrival order: event times drift upwards with disorder, a few are null or far ahead.

    Few, to show what is wrong, or many, to find it: Hypothesis alone would draw short streams of equal values.
    """
    count = draw(st.one_of(st.integers(0, 10), st.integers(30, 60)))
    rng = random.Random(draw(st.integers(0, 2**32)))
    step, disorder = (
        draw(st.sampled_from([1, 100_000, 700_000])),
        draw(st.sampled_from([0, 500_000, 4_000_000])),
    )
    rows = []
    for i in range(count):
        time: int | None = i * step - rng.randint(0, disorder) if disorder else i * step
        if rng.random() < 0.02:
            time = None
        elif rng.random() < 0.02:
            time = 10**14
        rows.append(
            {
                "ts": time,
                "key": rng.choice(["x", "y", None]),
                "n": i,
                "a": rng.choice(NUMBERS),
                "b": rng.choice(INTEGERS),
            }
        )
    return rows


windows = st.sampled_from(
    [
        (1_000_000, 1_000_000),
        (1_000_000, 200_000),
        (3_000_000, 2_000_000),
        (500_000, 2_000_000),
        (7, 3),
        (900_000, 1_300_000),
    ]
)

policies: st.SearchStrategy[Lateness] = st.sampled_from([KSlack(), KSlack("1 second"), FixedDelay("300 milliseconds")])

definitions: st.SearchStrategy[dict[str, Any]] = st.builds(
    dict,
    question=st.one_of(queries, st.sampled_from([QUERIES[name] for name in ("bounds", "every other", "extremes")])),
    window=windows.map(lambda spec: WindowSpec(*spec)),
    keys=st.sampled_from([(), (), ("key",)]),
    sliding=st.sampled_from(["auto", "auto", "tiles", "recompute"]),
    processing=st.sampled_from(["out_of_order", "out_of_order", "in_order"]),
    harm_horizon_us=st.sampled_from([0, 300_000, 10**9]),
    lateness=st.sampled_from([0, "changes", 400_000, 3_000_000]),
)


def definition_of(chosen: dict[str, Any]) -> Definition:
    lateness = chosen["lateness"]
    emit = Changes() if lateness == "changes" else Full()
    assume(not (emit.looks_back and chosen["sliding"] == "tiles" and not chosen["question"].selective))
    rest = {name: value for name, value in chosen.items() if name != "lateness"}
    return Definition(**rest, time="ts", emit=emit, allowed_lateness_us=lateness if isinstance(lateness, int) else 0)
