"""The law suite for lateness policies: every policy, yours included, must pass ``check_policy``.

    from skypane.testing import check_policy

    def test_my_policy() -> None:
        check_policy(MyPolicy(...), max_slack="1 minute")

Each law is a function of a policy and of what it is shown; its docstring is the law.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from skypane.flow.definition import Definition
from skypane.lateness.delay_histogram import DelayHistogram
from skypane.lateness.future_guard import FutureGuard
from skypane.lateness.policies.drop_ratio import DropRatio
from skypane.lateness.policies.fixed_delay import FixedDelay
from skypane.lateness.policies.harm import Harm
from skypane.lateness.policies.kslack import KSlack
from skypane.lateness.policy import Judgement, Lateness, Observation, PolicyState
from skypane.local.engine import Engine
from skypane.model.codec import to_text
from skypane.model.durations import Duration, parse_duration_us
from skypane.model.windows import WindowSpec
from skypane.queries.aggregates import Aggregates
from skypane.testing.law import expect, for_all, uphold
from skypane.testing.oracle import EPOCH

OTHERS: tuple[Lateness, ...] = (
    FixedDelay("1 second"),
    KSlack(),
    KSlack(memory="1 minute"),
    DropRatio(0.1),
    Harm(0.1),
)
_SCHEMA = pa.schema([("ts", pa.timestamp("us", "UTC"))])
_GRAIN_US = 100_000


@dataclass(frozen=True)
class Shown:
    """What a policy is shown, step by step, and the bound of its slack."""

    steps: Sequence[Observation]
    max_slack_us: int | None


def it_says_what_it_is(policy: Lateness, shown: Shown) -> None:
    """It has a name, and a description of plain values by plain names, the same whenever it is asked."""
    del shown
    expect(isinstance(policy.name, str) and bool(policy.name), True)
    described = dict(policy.describe())
    expect(_through_json(described), described)
    expect(dict(policy.describe()), described)


def observing_is_pure(policy: Lateness, shown: Shown) -> None:
    """``observe`` changes neither what it is given nor the policy: what it saw in the meantime makes no difference."""
    states, steps = [policy.initial()], copy.deepcopy(shown.steps)
    for seen in steps:
        before = _text(states[-1])
        states.append(policy.observe(states[-1], seen))
        expect(_text(states[-2]), before)
    expect(steps, shown.steps)
    texts, slacks = [_text(state) for state in states], [policy.slack_us(state) for state in states]
    for index in reversed(range(len(steps))):
        expect(_text(policy.observe(states[index], steps[index])), texts[index + 1])
        expect(policy.slack_us(states[index]), slacks[index])
    expect(_text(policy.initial()), texts[0])


def state_survives_json(policy: Lateness, shown: Shown) -> None:
    """A state that was stored as JSON and read again is as good as the state itself."""
    state = policy.initial()
    for seen in shown.steps:
        stored = _through_json(dict(state))
        expect(policy.slack_us(stored), policy.slack_us(state))
        expect(_text(policy.observe(stored, seen)), _text(policy.observe(state, seen)))
        state = policy.observe(state, seen)


def slack_is_a_duration(policy: Lateness, shown: Shown) -> None:
    """The slack is whole microseconds, never negative, and never more than the bound."""
    state = policy.initial()
    _check_slack(policy, state, shown.max_slack_us)
    for seen in shown.steps:
        state = policy.observe(state, seen)
        _check_slack(policy, state, shown.max_slack_us)


def it_takes_over_from_another(policy: Lateness, shown: Shown) -> None:
    """It works with the state of any other policy: a query may be restarted with another one."""
    for other in OTHERS:
        state = other.initial()
        for seen in shown.steps:
            state = other.observe(state, seen)
        state = _through_json(dict(state))
        _check_slack(policy, state, shown.max_slack_us)
        for seen in shown.steps:
            state = _through_json(dict(policy.observe(state, seen)))
            _check_slack(policy, state, shown.max_slack_us)


def order_and_tasks_do_not_show(policy: Lateness, steps: Sequence[Sequence[int]]) -> None:
    """Run as a stream: neither the order of a batch's records nor their distribution over tasks changes a decision."""
    query = Aggregates.of({"n": "count"})
    definition = Definition(query, WindowSpec(1_000_000, 500_000), "ts", harm_horizon_us=10_000_000)
    engine = Engine(definition, policy, FutureGuard(None))
    state = engine.start()
    for grains in steps:
        tasks = [_records(grains[start::3]) for start in range(3)]
        after, _ = engine.step(state, tasks)
        again, _ = engine.step(state, [_records(grains[::-1])])
        expect(to_text(again.progress), to_text(after.progress))
        state = after


LAWS: tuple[Callable[[Lateness, Shown], None], ...] = (
    it_says_what_it_is,
    observing_is_pure,
    state_survives_json,
    slack_is_a_duration,
    it_takes_over_from_another,
)


def check_policy(policy: Lateness, *, max_slack: Duration | None = None, max_examples: int = 100) -> None:
    """Check every law on generated steps; raise :class:`~skypane.testing.law.LawBroken` if one does not hold.

    max_slack: the bound that the policy promises for its slack, if it promises one.
    """
    bound_us = None if max_slack is None else parse_duration_us(max_slack, "check_policy(max_slack)", zero_ok=True)
    uphold(LAWS, policy, Shown((Observation(0), Observation(0, front_us=0)), bound_us))
    shown = st.lists(_observations(), max_size=12).map(lambda steps: Shown(_in_order(steps), bound_us))
    for_all(LAWS, policy, shown, max_examples)
    streams = st.lists(st.lists(st.integers(-50, 50), max_size=12), max_size=5)
    drifting = streams.map(lambda steps: [[10 * n + t for t in step] for n, step in enumerate(steps)])
    for_all((order_and_tasks_do_not_show,), policy, drifting, max(1, max_examples // 2))


@st.composite
def _observations(draw: st.DrawFn) -> Observation:
    """A step as the stages would show it."""
    overdue = draw(st.lists(st.integers(-(10**9), 10**12), max_size=20))
    late, judged = draw(st.integers(0, len(overdue))), draw(st.integers(0, 1000))
    return Observation(
        records=len(overdue),
        late=late,
        front_us=draw(st.integers(0, 10**9)),
        max_delay_us=max((0, *overdue)),
        overdue=DelayHistogram.count(np.array(overdue, np.int64), np.ones(len(overdue), np.int64)),
        judged=Judgement(judged, draw(st.integers(0, judged))),
    )


def _in_order(steps: Sequence[Observation]) -> list[Observation]:
    """The front does not go back."""
    fronts = np.cumsum([step.front_us for step in steps]).tolist()
    return [Observation(**{**vars(step), "front_us": front}) for step, front in zip(steps, fronts, strict=True)]


def _records(grains: Sequence[int]) -> pa.Table:
    times = [EPOCH + timedelta(microseconds=grain * _GRAIN_US) for grain in grains]
    return pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC"))}, schema=_SCHEMA)


def _check_slack(policy: Lateness, state: PolicyState, bound_us: int | None) -> None:
    slack = policy.slack_us(state)
    expect(type(slack), int)
    expect(min(0, slack), 0)
    if bound_us is not None:
        expect(min(slack, bound_us), slack)


def _through_json(value: Mapping[str, Any]) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(json.dumps(value, allow_nan=False))
    return read


def _text(value: Mapping[str, Any]) -> str:
    """What a manifest would hold."""
    return json.dumps(dict(value), allow_nan=False, sort_keys=True)
