"""Policies: the slack they choose, and the loss they reach on streams with even, heavy-tailed and bursty delays."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skypane.lateness.delay_histogram import DelayHistogram
from skypane.lateness.policies.drop_ratio import DropRatio
from skypane.lateness.policies.fixed_delay import FixedDelay
from skypane.lateness.policies.harm import Harm
from skypane.lateness.policies.kslack import KSlack
from skypane.lateness.policy import Judgement, Lateness, Observation, PolicyState, slack_of, slack_warning
from skypane.model.errors import OptionError
from skypane.model.groups import Int64Array
from skypane.model.windows import WindowSpec
from skypane.traffic.reading import times
from skypane.traffic.spec import TrafficSpec
from skypane.traffic.stream import Stream
from tests.support.marks import LONG

PANE_US, STEP_US = 200_000, 100_000
DELAYS: Mapping[str, Mapping[str, str]] = {
    "uniform": {"disorder": "uniform", "rate": "20000", "duration": "200 s"},
    "heavy tail": {"disorder": "pareto", "rate": "20000", "duration": "120 s"},
    "bursty": {
        "disorder": "stalls",
        "mean_delay": "50 ms",
        "stalled_share": "0.2",
        "partitions": "4",
        "rate": "5000",
        "duration": "800 s",
    },
}


def lost_share(policy: Lateness, ts_us: Int64Array, arrival_us: Int64Array) -> float:
    """The share of late records, once settled, of a stream cut into steps by arrival."""
    borders = np.searchsorted(arrival_us, np.arange(arrival_us[0], arrival_us[-1] + STEP_US, STEP_US))
    state: PolicyState = policy.initial()
    front, punctuation = None, None
    late: list[int] = []
    records: list[int] = []
    for low, high in pairwise(borders.tolist()):
        if low == high:
            continue
        ends, counts = np.unique((ts_us[low:high] // PANE_US + 1) * PANE_US, return_counts=True)
        lost = int(counts[ends <= punctuation].sum()) if punctuation is not None else 0
        overdue = DelayHistogram(float(high - low))
        if front is not None:
            overdue = DelayHistogram.count(front - ends, counts)
        newest = int(ts_us[low:high].max())
        front = newest if front is None else max(front, newest)
        state = policy.observe(state, Observation(high - low, lost, front, 0, overdue))
        if len(late) % 20 == 0:
            state = json.loads(json.dumps(state))  # as a manifest carries it
        until = front - policy.slack_us(state)
        punctuation = until if punctuation is None else max(punctuation, until)
        late.append(lost)
        records.append(high - low)
    settled = slice(len(late) // 4, None)
    assert sum(records[settled]) >= 30 / 0.001
    return sum(late[settled]) / sum(records[settled])


@pytest.mark.parametrize("delays", DELAYS)
@pytest.mark.parametrize("seed", ["1", LONG("2")])
def test_drop_ratio_reaches_its_target_within_a_fifth(delays: str, seed: str) -> None:
    stream = times(Stream(TrafficSpec.from_options({**DELAYS[delays], "seed": seed})))
    for target in (0.05, 0.01, 0.001):
        assert lost_share(DropRatio(target), *stream) == pytest.approx(target, rel=0.2)


@given(
    values=st.lists(st.integers(-(10**9), 10**12), min_size=1, max_size=200),
    share=st.sampled_from([0.0, 0.001, 0.1, 0.5, 0.99]),
)
def test_the_slack_of_a_histogram_keeps_the_share(values: list[int], share: float) -> None:
    overdue, ones = np.array(values), np.ones(len(values), dtype=np.int64)
    histogram = DelayHistogram.count(overdue, ones)
    assert DelayHistogram.merge(DelayHistogram.count(overdue[i::3], ones[i::3]) for i in range(3)) == histogram
    slack = histogram.slack_us(share)
    # A bucket is at most a sixty-fourth wide.
    assert (overdue >= slack * (1 + 1 / 32) + 1).sum() <= share * len(values)
    assert slack == 0 or (overdue >= slack * (1 - 1 / 32) - 1).sum() >= share * len(values)
    assert DelayHistogram.from_json(json.loads(json.dumps(histogram.to_json()))) == histogram


def settled(policy: Lateness, delay_us: int, steps: int, state: PolicyState | None = None) -> PolicyState:
    state = policy.initial() if state is None else state
    overdue = DelayHistogram.count(np.arange(1000) * delay_us // 1000, np.ones(1000, dtype=np.int64))
    for step in range(steps):
        state = policy.observe(state, Observation(1000, 0, step * 10**6, delay_us, overdue, Judgement(10, 1)))
    return state


@pytest.mark.parametrize("policy", [DropRatio(0.01), Harm(0.01), KSlack(memory="1 minute")])
def test_slack_shrinks_when_disorder_subsides(policy: Lateness) -> None:
    wild = settled(policy, 10_000_000, 200)
    assert policy.slack_us(wild) > 4_000_000
    calm = settled(policy, 100_000, 2_000, wild)
    assert policy.slack_us(calm) <= 100_000


@pytest.mark.parametrize(
    "policy",
    [DropRatio(0.01, max_slack="2 s"), Harm(0.01, max_slack="2 s"), KSlack(max_slack="2 s"), FixedDelay("2 s")],
)
def test_slack_is_bounded(policy: Lateness) -> None:
    assert policy.slack_us(settled(policy, 10_000_000_000, 50)) == 2_000_000


def test_k_slack_as_in_the_paper_never_shrinks() -> None:
    policy = KSlack()
    assert policy.slack_us(settled(policy, 1_000, 100, settled(policy, 5_000_000, 1))) == 5_000_000


def test_a_policy_starts_over_where_another_one_was() -> None:
    state = settled(KSlack(), 5_000, 3)
    for policy in (DropRatio(0.1), Harm(0.1), KSlack(memory="1 s"), KSlack()):
        assert policy.slack_us(policy.observe(state, Observation(10))) >= 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DropRatio(0), r"DropRatio\(target=0\) must be a share between 0 and 1"),
        (lambda: Harm(1.5), r"Harm\(target=1.5\) must be a share between 0 and 1"),
        (lambda: DropRatio("1%"), r"DropRatio\(target='1%'\) must be"),  # type: ignore[arg-type]
        (lambda: DropRatio(0.1, max_slack="x"), r"DropRatio\(max_slack\)='x' is not a duration"),
        (lambda: Harm(0.1, max_slack="1 s", initial_slack="2 s"), r"Harm\(initial_slack='2 s'\) is longer than"),
        (lambda: KSlack(memory="0 s"), r"KSlack\(memory\)='0 s' must be longer than zero"),
    ],
)
def test_bad_options_are_named(make: object, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        make()  # type: ignore[operator]


def test_the_default_bound_of_the_slack_follows_the_windows() -> None:
    small, large = WindowSpec(1_000_000, 200_000), WindowSpec(600_000_000, 600_000_000)
    for policy in (KSlack(), DropRatio(0.1), Harm(0.1)):
        for window, bound_us in ((small, 60_000_000), (large, 6_000_000_000)):
            bounded = policy.for_window(window)
            assert bounded.slack_us(settled(bounded, 10**12, 50)) == bound_us
        assert policy.for_window(small).for_window(small) == policy.for_window(small)
        assert "10 windows, at least 1 min" in str(policy.describe())
    assert KSlack(max_slack=None).max_slack_us(small) is None
    assert KSlack(max_slack="5 s").max_slack_us(small) == 5_000_000
    assert KSlack(initial_slack="2 hours").max_slack_us(small) == 7_200_000_000
    assert FixedDelay("5 s").max_slack_us(small) == 60_000_000


def test_a_long_slack_is_warned_about_unless_it_was_asked_for() -> None:
    window = WindowSpec(1_000_000, 200_000)
    assert slack_warning(KSlack(), window, 3_000_000) is None
    assert "answers wait 3500 ms" in str(slack_warning(KSlack(), window, 3_500_000))
    assert "answers wait 590 s for" in str(slack_warning(KSlack(), window, 590_272_123))
    assert slack_warning(FixedDelay("1 minute"), window, 60_000_000) is None


@pytest.mark.parametrize("slack", [-1, 1.5, float("nan"), None])
def test_a_slack_that_is_none_is_refused_by_name(slack: object) -> None:
    class Odd(FixedDelay):
        def slack_us(self, state: PolicyState) -> int:
            return slack  # type: ignore[return-value]

    with pytest.raises(OptionError, match=r"slack_us returned .*; return whole microseconds, 0 or more"):
        slack_of(Odd("1 second"), {})
    assert type(slack_of(FixedDelay("1 second"), {})) is int
