"""The past guard on the whole data path: a stream with unset clocks is answered as without them, whatever the tasks."""

from __future__ import annotations

import random
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skypane.flow.definition import Definition
from skypane.flow.windows.emit.names import emission
from skypane.lateness.future_guard import FutureGuard
from skypane.lateness.partitions import SourcePartitions
from skypane.lateness.past_guard import PAST_REASON, PastGuard
from skypane.lateness.policies.fixed_delay import FixedDelay
from skypane.lateness.policies.kslack import KSlack
from skypane.local.engine import Engine, EngineState, StepOutput
from skypane.model.live import LiveSpec
from skypane.model.row_windows import RowWindows
from skypane.model.windows import WindowSpec
from skypane.queries.aggregates import Aggregates
from skypane.queries.preferences import Preferences
from skypane.queries.skyline import Skyline
from tests.support.engine_runs import KINDS, same

SECOND_US, HOUR_US = 1_000_000, 3_600_000_000
START_US = 1_700_000_000 * SECOND_US
SCHEMA = pa.schema([("ts", pa.timestamp("us", "UTC")), ("n", pa.int64()), ("a", pa.float64()), ("p", pa.string())])
QUESTION = Skyline(Preferences.of(["a"], []))
COUNT = Aggregates.of({"n": "count"}, "ts")
DEFINITIONS = {
    "windows": Definition(COUNT, WindowSpec(2 * SECOND_US, SECOND_US), "ts"),
    "in order": Definition(QUESTION, WindowSpec(SECOND_US, SECOND_US), "ts", processing="in_order"),
    "records": Definition(COUNT, RowWindows.parse(4, 2), "ts", ("p",)),
    "live": Definition(QUESTION, LiveSpec.parse("2 seconds"), "ts", emit=emission("updates")),
    "revised": Definition(COUNT, WindowSpec(SECOND_US, SECOND_US), "ts", allowed_lateness_us=SECOND_US),
}
Rows = list[tuple[int, int]]
"""Times and numbers; a stray has a number below zero."""


def table(rows: Rows) -> pa.Table:
    records = [{"ts": time, "n": n, "a": float(n * 37 % 11), "p": "pq"[n % 2] if n >= 0 else "s"} for time, n in rows]
    return pa.Table.from_pylist(records, SCHEMA)


def engine(kind: str, past: PastGuard, *, kslack: bool, partitions: bool) -> Engine:
    definition = replace(DEFINITIONS[kind], partition="p" if partitions else None)
    sources = SourcePartitions("p", idle_timeout_us=HOUR_US) if partitions else None
    policy = KSlack() if kslack else FixedDelay("300 ms")
    return Engine(definition, policy, FutureGuard(HOUR_US), sources, past=past)


def run(asked: Engine, batches: list[Rows], tasks: int, seed: int) -> list[tuple[EngineState, StepOutput]]:
    """With records in any order, on some tasks."""
    rng, state, steps = random.Random(seed), asked.start(), []
    for batch in batches:
        shares: list[Rows] = [[] for _ in range(tasks)]
        for row in rng.sample(batch, len(batch)):
            rng.choice(shares).append(row)
        state, output = asked.step(state, [table(share) for share in shares], tasks)
        steps.append((state, output))
    steps.append(asked.flush(state, tasks))
    return steps


@pytest.mark.parametrize("kind", DEFINITIONS)
@settings(max_examples=15)
@given(
    late_ms=st.lists(st.integers(0, 2_000), min_size=24, max_size=40),
    cut=st.integers(12, 24),
    strays=st.lists(st.integers(-SECOND_US, 10 * 365 * 86_400 * SECOND_US), min_size=1, max_size=3),
    first=st.booleans(),
    tasks=st.integers(1, 4),
    kslack=st.booleans(),
    partitions=st.booleans(),
    seed=st.integers(0, 9),
)
def test_strays_of_the_past_change_nothing(
    kind: str,
    late_ms: list[int],
    cut: int,
    strays: list[int],
    first: bool,
    tasks: int,
    kslack: bool,
    partitions: bool,
    seed: int,
) -> None:
    clean = [(START_US + i * 250_000 - late * 1_000, i) for i, late in enumerate(late_ms)]
    batches = [clean[:cut], clean[cut:]]
    poison = [(time, -1 - i) for i, time in enumerate(strays)]
    # As few as there are for sure ten others of each: twelve records or more are in the first batch.
    poison = poison[: cut // 10] if first else poison
    dirty = [[*batch, *(poison if (number == 0) == first else [])] for number, batch in enumerate(batches)]
    guarded = engine(kind, PastGuard(auto=True), kslack=kslack, partitions=partitions)
    free = engine(kind, PastGuard(), kslack=kslack, partitions=partitions)
    wanted, found = run(free, batches, 1, seed), run(guarded, dirty, tasks, seed + 1)
    refused = sorted(n for _, output in found for t in output.quarantined for n in t.column("n").to_pylist())
    assert refused == sorted(n for _, n in poison)
    assert found[-1][0].ledger.quarantined_by_reason == {PAST_REASON: len(poison)}
    for (before, one), (after, other) in zip(wanted, found, strict=True):
        plain = replace(other, quarantined=[])
        # A live query may keep rows that the next watermark prunes, which depends on the tasks.
        kinds = [name for name in KINDS if name != "panes" or kind != "live"]
        same((before, one), (replace(after, ledger=before.ledger), plain), kinds)
        assert replace(after.ledger, quarantined_by_reason={}) == before.ledger
