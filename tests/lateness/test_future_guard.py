"""The future guard decides the same however records are ordered and spread over tasks; strays do no harm."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from skypane.flow.definition import Definition
from skypane.lateness.future_guard import FutureGuard
from skypane.lateness.policies.fixed_delay import FixedDelay
from skypane.local.engine import Engine, EngineState, StepOutput
from skypane.model.windows import WindowSpec
from skypane.queries.aggregates import Aggregates

HOUR_US = 3_600_000_000
SCHEMA = pa.schema([("ts", pa.timestamp("us", "UTC")), ("n", pa.int64())])


def engine(support: int = 5) -> Engine:
    definition = Definition(Aggregates.of({"rows": "count"}), WindowSpec(1_000_000, 1_000_000), "ts")
    return Engine(definition, FixedDelay("0 seconds"), FutureGuard(HOUR_US, support))


def step(runner: Engine, state: EngineState, *tasks: list[int]) -> tuple[EngineState, StepOutput]:
    tables = [pa.table({"ts": pa.array(task, pa.timestamp("us", "UTC")), "n": task}, schema=SCHEMA) for task in tasks]
    return runner.step(state, tables)


def believed(before: int | None, evidence: list[int], times: list[int], support: int) -> set[int]:
    """The rule by its words, on one sorted list: steps of at most an hour, or enough witnesses."""
    everything = sorted([*times, *evidence], reverse=True)
    anchors = [t for t in (before, everything[support - 1] if len(everything) >= support else None) if t is not None]
    if not anchors and everything:
        anchors = [everything[-1]]
    if not anchors:
        return set()
    anchor = max(anchors)
    for time in sorted(times):
        if anchor < time <= anchor + HOUR_US:
            anchor = time
    return {time for time in times if time <= anchor}


jumps = st.lists(st.sampled_from([0, 1, HOUR_US // 2, HOUR_US, HOUR_US + 1, 30 * HOUR_US]), min_size=1, max_size=12)


@settings(max_examples=200, deadline=None)
@given(
    batches=st.lists(jumps, min_size=1, max_size=4),
    tasks=st.integers(1, 4),
    support=st.integers(1, 5),
    seed=st.integers(),
)
def test_belief_follows_the_rule_whatever_the_distribution(
    batches: list[list[int]], tasks: int, support: int, seed: int
) -> None:
    rng, runner = random.Random(seed), engine(support)
    state = runner.start()
    for batch in batches:
        start = state.progress.t_max_us or 0
        times = [start + int(t) for t in np.cumsum(batch)]
        rng.shuffle(times)
        expected = believed(state.progress.t_max_us, list(state.progress.future_evidence_us), times, support)
        state, output = step(runner, state, *[times[i::tasks] for i in range(tasks)])
        refused = {row["n"] for table in output.quarantined for row in table.to_pylist()}
        assert refused == set(times) - expected


def test_one_record_a_day_ahead_changes_nothing() -> None:
    runner = engine()
    times = [list(range(i * 1_000_000, (i + 1) * 1_000_000, 50_000)) for i in range(6)]
    plain, stray = runner.start(), runner.start()
    answers: list[list[list[dict[str, object]]]] = [[], []]
    for number, batch in enumerate(times):
        plain, output = step(runner, plain, batch)
        answers[0].append([table.to_pylist() for table in output.answers])
        extra = [24 * HOUR_US + number] if number in (0, 2) else []
        stray, output = step(runner, stray, batch + extra)
        answers[1].append([table.to_pylist() for table in output.answers])
    assert answers[0] == answers[1]
    assert stray.ledger.late == 0
    assert stray.ledger.quarantined == 2
    assert stray.progress.t_max_us == plain.progress.t_max_us
