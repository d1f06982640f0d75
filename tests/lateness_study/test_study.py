"""Whole streams: harm reaches its target, harm-driven slack is faster, out of order beats in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from functools import lru_cache

import pyarrow as pa
import pytest

from skypane.flow.definition import Definition
from skypane.lateness.future_guard import FutureGuard
from skypane.lateness.partitions import SourcePartitions
from skypane.lateness.policies.drop_ratio import DropRatio
from skypane.lateness.policies.fixed_delay import FixedDelay
from skypane.lateness.policies.harm import Harm
from skypane.lateness.policies.kslack import KSlack
from skypane.lateness_study.study import Step, cut_by_arrival, run_policy
from skypane.local.engine import Engine
from skypane.model.windows import WindowSpec
from skypane.queries.aggregates import Aggregates
from skypane.queries.preferences import Preferences
from skypane.queries.skyline import Skyline
from skypane.traffic.reading import chunks
from skypane.traffic.spec import TrafficSpec
from skypane.traffic.stream import Stream
from tests.support.marks import LONG

WINDOW = WindowSpec(1_000_000, 200_000)


@lru_cache(maxsize=4)
def steps_of(attributes: int, disorder: str, rate: int, seconds: int, **more: str) -> Sequence[Step]:
    options = {"attributes": str(attributes), "disorder": disorder, "rate": str(rate), "duration": f"{seconds} s"}
    stream = Stream(TrafficSpec.from_options({**options, "seed": "1", **more}))
    return list(cut_by_arrival((pa.Table.from_batches([b]) for b in chunks(stream)), "arrival", 100_000))


def skyline(attributes: int) -> Definition:
    names = tuple(f"a{index}" for index in range(attributes))
    return Definition(Skyline(Preferences(names, ())), WINDOW, "ts", harm_horizon_us=20_000_000)


@pytest.mark.parametrize(
    ("disorder", "target", "attributes", "rate", "seconds"),
    [("uniform", 0.05, 6, 2_000, 60), LONG("pareto", 0.01, 6, 2_000, 60), LONG("uniform", 0.001, 4, 20_000, 40)],
)
def test_harm_reaches_its_target_within_a_fifth(
    disorder: str, target: float, attributes: int, rate: int, seconds: int
) -> None:
    steps = steps_of(attributes, disorder, rate, seconds)
    outcome = run_policy(skyline(attributes), Harm(target), steps, warm_up=0.3)
    assert outcome.records >= 30 / target
    assert outcome.harm_share == pytest.approx(target, rel=0.2)


@pytest.mark.parametrize("attributes", [2, LONG(4), LONG(6)])
def test_harm_driven_slack_is_faster_at_the_same_promise(attributes: int) -> None:
    steps = steps_of(attributes, "uniform", 5_000, 20)
    by_harm = run_policy(skyline(attributes), Harm(0.01), steps)
    by_drop = run_policy(skyline(attributes), DropRatio(0.01), steps)
    assert by_harm.harm_share <= 0.012
    assert by_harm.window_latency_ms < by_drop.window_latency_ms


def test_out_of_order_processing_holds_less_and_is_faster() -> None:
    steps = steps_of(4, "uniform", 5_000, 20, mean_delay="500 ms")
    definition = replace(skyline(4), harm_horizon_us=0)
    out_of_order = run_policy(definition, KSlack(), steps)
    in_order = run_policy(replace(definition, processing="in_order"), KSlack(), steps)
    assert out_of_order.slack_ms == in_order.slack_ms
    assert out_of_order.held_rows < 0.4 * in_order.held_rows
    assert out_of_order.pane_latency_ms < in_order.pane_latency_ms


@pytest.mark.parametrize("policy", [KSlack(), DropRatio(0.01), Harm(0.01), FixedDelay("1 second")])
def test_one_record_a_day_ahead_changes_nothing(policy: KSlack) -> None:
    steps = steps_of(2, "uniform", 1_000, 5)
    engine = Engine(skyline(2), policy, FutureGuard(3_600_000_000))
    runs = []
    for spoiled in (False, True):
        state, answers = engine.start(), []
        for index, step in enumerate(steps):
            rows = step.rows
            if spoiled and index == 20:
                stray = rows.slice(0, 1).to_pylist()[0]
                stray["ts"] += timedelta(days=1)
                rows = pa.concat_tables([rows, pa.Table.from_pylist([stray], rows.schema)])
            state, output = engine.step(state, [rows])
            answers += output.answers
        runs.append((pa.concat_tables(answers), state))
    (clean, before), (same, after) = runs
    assert same.equals(clean)
    assert after.progress.punctuation_us == before.progress.punctuation_us
    assert after.ledger.quarantined == 1
    assert (after.ledger.accepted, after.ledger.late) == (before.ledger.accepted, before.ledger.late)


def test_half_of_the_stream_late_changes_only_the_ledger_and_memory_stays_bounded() -> None:
    clean = steps_of(2, "none", 2_000, 30)
    engine = Engine(skyline(2), FixedDelay("0 seconds"), FutureGuard(3_600_000_000))
    answers: list[list[pa.Table]] = [[], []]
    kept: list[int] = []
    states = [engine.start(), engine.start()]
    for index, step in enumerate(clean):
        # Every record once more, from long ago: late from the second step on.
        old = step.rows.set_column(0, "ts", pa.array([0] * step.rows.num_rows, pa.timestamp("us", "UTC")))
        both = pa.concat_tables([step.rows, old]) if index else step.rows
        for which, rows in enumerate((step.rows, both)):
            states[which], output = engine.step(states[which], [rows])
            answers[which] += output.answers
        kept.append(sum(table.num_rows for table in states[1].rows.parts))
    assert pa.concat_tables(answers[1]).equals(pa.concat_tables(answers[0]))
    assert states[1].ledger.late == sum(step.rows.num_rows for step in clean[1:])
    assert states[1].ledger.accepted == states[0].ledger.accepted
    # The horizon of 20 seconds is full after two thirds: from then on nothing grows.
    assert max(kept[-30:]) <= 1.2 * max(kept[-100:-60])


def test_an_idle_partition_delays_windows_by_at_most_its_timeout() -> None:
    sources = SourcePartitions("key", "min", idle_timeout_us=3_000_000)
    definition = Definition(Aggregates.of({"n": "count"}), WindowSpec(1_000_000, 1_000_000), "ts", partition="key")
    engine = Engine(definition, FixedDelay("0 seconds"), FutureGuard(None), sources)
    schema = pa.schema([("ts", pa.timestamp("us", "UTC")), ("key", pa.string())])
    state, answered_us = engine.start(), {}
    for now_us in range(0, 20_000_000, 250_000):
        # One partition falls silent after five seconds.
        keys = ["a", "b"] if now_us < 5_000_000 else ["a"]
        rows = pa.Table.from_pylist([{"ts": now_us, "key": key} for key in keys], schema)
        state, output = engine.step(state, [rows], now_us=now_us)
        for row in (row for table in output.answers for row in table.to_pylist()):
            answered_us[int(row["window"]["end"].timestamp() * 1e6)] = now_us
    waited = [now_us - end_us for end_us, now_us in answered_us.items()]
    assert len(waited) >= 18
    assert max(waited) <= 3_000_000
    assert max(waited) >= 2_000_000
    assert waited[-1] == 0
