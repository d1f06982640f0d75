"""Fates, on the whole data path: the ledger adds up, and one poisoned record changes the fate of no other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skypane.flow.definition import Definition
from skypane.lateness.future_guard import FutureGuard
from skypane.lateness.partitions import SourcePartitions
from skypane.lateness.policies.drop_ratio import DropRatio
from skypane.lateness.policies.fixed_delay import FixedDelay
from skypane.lateness.policies.harm import Harm
from skypane.lateness.policies.kslack import KSlack
from skypane.lateness.policy import Lateness
from skypane.local.engine import Engine, EngineState, StepOutput
from skypane.model.ending import Ending
from skypane.model.windows import WindowSpec
from skypane.queries.aggregates import Aggregates
from skypane.queries.preferences import Preferences
from skypane.queries.skyline import Skyline

SECOND_US, HOUR_US = 1_000_000, 3_600_000_000
DAY_US = 24 * HOUR_US
START_US = 1_700_000_000 * SECOND_US
SCHEMA = pa.schema(
    [("ts", pa.timestamp("us", "UTC")), ("n", pa.int64()), ("a", pa.float64()), ("b", pa.float64()), ("p", pa.string())]
)
POLICIES: Sequence[Lateness] = (KSlack(), FixedDelay("0 seconds"), FixedDelay("2 s"), DropRatio(0.1), Harm(0.05))
Batch = list[tuple[int, int]]
"""Times and numbers."""


def engine(policy: Lateness, *, partitions: bool = False) -> Engine:
    window = WindowSpec(SECOND_US, SECOND_US // 2)
    question = Skyline(Preferences.of(["a", "b"], []))
    definition = Definition(
        question, window, "ts", partition="p" if partitions else None, harm_horizon_us=10 * SECOND_US
    )
    sources = SourcePartitions("p", idle_timeout_us=DAY_US) if partitions else None
    return Engine(definition, policy, FutureGuard(HOUR_US), sources)


def table(batch: Batch) -> pa.Table:
    rows = [
        {"ts": time, "n": n, "a": float(n * 37 % 11), "b": float(n * 53 % 13), "p": "stray" if n < 0 else str(n % 2)}
        for time, n in batch
    ]
    return pa.Table.from_pylist(rows, SCHEMA)


@dataclass
class Run:
    """What became of each record, and when."""

    runner: Engine
    state: EngineState = field(init=False)
    fates: list[dict[str, set[int]]] = field(default_factory=list)
    punctuations: list[int | None] = field(default_factory=list)
    delivered: int = 0

    def __post_init__(self) -> None:
        self.state = self.runner.start()

    def feed(self, batch: Batch, now_us: int, tasks: int = 1) -> None:
        cuts = [table(batch[i::tasks]) for i in range(tasks)]
        self._note(*self.runner.step(self.state, cuts, tasks, now_us), len(batch))

    def end(self, ending: Ending, now_us: int) -> None:
        self._note(*self.runner.flush(self.state, 1, now_us, ending), 0)

    def _note(self, state: EngineState, output: StepOutput, records: int) -> None:
        self.state, self.delivered = state, self.delivered + records
        assert output.ledger.delivered == records
        assert state.ledger.delivered == self.delivered
        assert state.ledger.held == sum(rows.num_rows for rows in state.rows.held)
        rows = {"late": output.late, "quarantined": output.quarantined}
        found: dict[str, list[dict[str, Any]]] = {
            name: [row for part in parts for row in part.to_pylist()] for name, parts in rows.items()
        }
        assert all(row["delay"].total_seconds() >= 0 for row in found["late"])
        self.fates.append({name: {row["n"] for row in rows} for name, rows in found.items()})
        self.punctuations.append(state.progress.punctuation_us)

    def of_others(self) -> list[dict[str, set[int]]]:
        """All but the poisoned record, which has a negative number."""
        return [{name: {n for n in numbers if n >= 0} for name, numbers in step.items()} for step in self.fates]


@st.composite
def streams(draw: st.DrawFn) -> list[Batch]:
    """Batches of a stream with disorder and late records, no two times more than a minute apart from the next."""
    batches, now, n = [], START_US, 0
    for _ in range(draw(st.integers(2, 7))):
        batch = []
        for _ in range(draw(st.integers(0, 12))):
            now += draw(st.sampled_from([0, 1, 50_000, 400_000, 3_000_000]))
            back = draw(st.sampled_from([0, 0, 0, 100_000, 700_000, 2_500_000, 20_000_000]))
            batch.append((now - back, n))
            n += 1
        batches.append(batch)
    return batches


def clock_us(batches: list[Batch], number: int, *, live: bool) -> int:
    """When a batch is cut: just after its newest record so far, or years later."""
    newest = max((time for batch in batches[: number + 1] for time, _ in batch), default=START_US)
    return newest + SECOND_US // 10 if live else newest + 1_000 * DAY_US


FAR_AHEAD = st.sampled_from([2 * HOUR_US, DAY_US, 999 * DAY_US, 2_000 * DAY_US, 2_900_000 * DAY_US])
FAR_BEHIND = st.sampled_from([-2 * 60 * SECOND_US, -HOUR_US, -DAY_US, -START_US, -700_000 * DAY_US])


@settings(max_examples=100, deadline=None)
@given(
    batches=streams(),
    policy=st.sampled_from(POLICIES),
    distance=st.one_of(FAR_AHEAD, FAR_BEHIND),
    place=st.integers(0, 7),
    alone=st.booleans(),
    live=st.booleans(),
    partitions=st.booleans(),
    ending=st.sampled_from(["auto", "idle", "all"]),
)
def test_a_poisoned_record_at_any_place_changes_the_fate_of_no_other(
    batches: list[Batch],
    policy: Lateness,
    distance: int,
    place: int,
    *,
    alone: bool,
    live: bool,
    partitions: bool,
    ending: Ending,
) -> None:
    plain, poisoned = (Run(engine(policy, partitions=partitions)) for _ in range(2))
    place %= len(batches)
    poison = (max((t for batch in batches for t, _ in batch), default=START_US) + distance, -1)
    for number, batch in enumerate(batches):
        now = clock_us(batches, number, live=live)
        if number == place and alone:
            plain.feed([], now)
            poisoned.feed([poison], now)
        plain.feed(batch, now)
        poisoned.feed([*batch, poison] if number == place and not alone else batch, now)
    now = clock_us(batches, len(batches), live=live)
    for run in (plain, poisoned):
        run.end(ending, now)
        run.end("all", now)
        assert run.state.ledger.held == 0
    assert plain.of_others() == poisoned.of_others()


@settings(max_examples=60, deadline=None)
@given(batches=streams(), policy=st.sampled_from(POLICIES), strays=st.lists(st.tuples(st.integers(0, 7), FAR_AHEAD)))
def test_how_records_are_spread_over_tasks_changes_no_fate(
    batches: list[Batch], policy: Lateness, strays: list[tuple[int, int]]
) -> None:
    for number, (place, distance) in enumerate(strays):
        batches[place % len(batches)].append((START_US + distance, -1 - number))
    runs = [Run(engine(policy)) for _ in range(3)]
    for number, batch in enumerate(batches):
        for tasks, run in enumerate(runs, start=1):
            run.feed(batch if tasks < 3 else batch[::-1], clock_us(batches, number, live=number % 2 == 0), tasks)
    for run in runs:
        run.end("auto", clock_us(batches, len(batches), live=True))
    assert all(run.fates == runs[0].fates and run.punctuations == runs[0].punctuations for run in runs)
    assert all(run.state.progress == runs[0].state.progress for run in runs)


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_the_slack_of_a_poisoned_stream_stays_what_it_was(policy: Lateness) -> None:
    slacks, punctuations = [], []
    for poison in (None, 0, START_US + 3 * DAY_US):
        run = Run(engine(policy))
        for number in range(20):
            batch = [(START_US + (number * 20 + i) * 50_000 - (i % 3) * 300_000, number * 20 + i) for i in range(20)]
            run.feed([*batch, (poison, -1)] if poison is not None and number == 4 else batch, START_US + 5 * DAY_US)
        slacks.append(policy.slack_us(run.state.progress.policy_state))
        punctuations.append(run.punctuations)
        assert run.state.ledger.accepted >= 300
    assert slacks == [slacks[0]] * 3
    assert punctuations == [punctuations[0]] * 3


def test_a_partition_of_one_old_record_is_not_waited_for_and_one_of_many_is() -> None:
    runner = engine(FixedDelay("0 seconds"), partitions=True)
    for old, expected_us in ((1, START_US + SECOND_US), (5, START_US - HOUR_US)):
        run = Run(runner)
        batch = [(START_US + SECOND_US, 0), (START_US, 1), (START_US + SECOND_US, 2), (START_US + SECOND_US, 3)]
        run.feed([*batch, *((START_US - HOUR_US, -1 - i) for i in range(old))], START_US + DAY_US)
        assert run.state.progress.front_us == expected_us


@pytest.mark.parametrize("apart", [2, 90])
def test_wrong_times_do_not_confirm_each_other(apart: int) -> None:
    """In a replay with one record a batch: each stray comes while the one before it is still held."""
    definition = Definition(Aggregates.of({"n": "count"}), WindowSpec.parse("1 second"), "ts")
    engine = Engine(definition, KSlack(), FutureGuard(HOUR_US))
    state, first_us = engine.start(), 1_700_000_000_000_000
    strays = range(50, 400, apart)
    for number in range(600):
        time_us = first_us + number * 100_000 + (24 * HOUR_US if number in strays else 0)
        state, _ = engine.step(state, [pa.table({"ts": pa.array([time_us], pa.timestamp("us", "UTC"))})])
    state, _ = engine.flush(state)
    assert state.ledger.late == 0
    assert state.ledger.accepted == 600 - len(strays)
    assert state.ledger.quarantined == len(strays)
