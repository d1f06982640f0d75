"""Every policy passes the published law suite, which catches wrong ones and says which law they break."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from skypane.lateness.policies.drop_ratio import DropRatio
from skypane.lateness.policies.fixed_delay import FixedDelay
from skypane.lateness.policies.harm import Harm
from skypane.lateness.policies.kslack import KSlack
from skypane.lateness.policy import Lateness, Observation, PolicyState
from skypane.testing.law import LawBroken
from skypane.testing.policy_laws import check_policy

BUILT_IN: list[tuple[Lateness, str | None]] = [
    (FixedDelay("0 s"), "0 s"),
    (FixedDelay("3 s"), "3 s"),
    (KSlack(), None),
    (KSlack("1 s", max_slack="2 s"), "2 s"),
    (KSlack(memory="1 minute", max_slack="5 s"), "5 s"),
    (DropRatio(0.01), None),
    (DropRatio(0.2, max_slack="2 s", initial_slack="1 s"), "2 s"),
    (Harm(0.001), None),
    (Harm(0.1, max_slack="2 s"), "2 s"),
]


@pytest.mark.parametrize(("policy", "max_slack"), BUILT_IN, ids=repr)
def test_policy_keeps_the_laws(policy: Lateness, max_slack: str | None) -> None:
    check_policy(policy, max_slack=max_slack, max_examples=30)


@dataclass
class LastDelay(Lateness):
    """As long as the largest delay of the last step: right, until a test makes it wrong."""

    def describe(self) -> Mapping[str, object]:
        return {}

    def initial(self) -> PolicyState:
        return {"last_us": 0}

    def observe(self, state: PolicyState, seen: Observation) -> PolicyState:
        del state
        return {"last_us": seen.max_delay_us}

    def slack_us(self, state: PolicyState) -> int:
        return int(state.get("last_us", 0))


class KeepsAnAttribute(LastDelay):
    most: int = 0

    def observe(self, state: PolicyState, seen: Observation) -> PolicyState:
        self.most = max(self.most, seen.max_delay_us)
        return {"last_us": self.most}


class ChangesItsState(LastDelay):
    def observe(self, state: PolicyState, seen: Observation) -> PolicyState:
        assert isinstance(state, dict)
        state["last_us"] = seen.max_delay_us
        return state


class NumbersAsKeys(LastDelay):
    """JSON turns the keys into text."""

    def initial(self) -> PolicyState:
        return {"delays": {}}

    def observe(self, state: PolicyState, seen: Observation) -> PolicyState:
        delays: dict[Any, int] = {**state.get("delays", {})}
        delays[len(delays)] = seen.max_delay_us
        return {"delays": delays}

    def slack_us(self, state: PolicyState) -> int:
        delays = state.get("delays", {})
        return int(delays[len(delays) - 1]) if delays else 0


class NumpySlack(LastDelay):
    def slack_us(self, state: PolicyState) -> int:
        slack: int = np.array([super().slack_us(state)])[0]
        return slack


class NegativeSlack(LastDelay):
    def slack_us(self, state: PolicyState) -> int:
        return super().slack_us(state) - 1


class KnowsOnlyItself(LastDelay):
    def slack_us(self, state: PolicyState) -> int:
        return int(state["last_us"])


class NamesNothing(LastDelay):
    name = ""


def test_a_right_policy_passes_and_is_called_by_its_class() -> None:
    check_policy(LastDelay(), max_examples=30)
    assert LastDelay().name == "LastDelay"


@pytest.mark.parametrize(
    ("policy", "max_slack", "message"),
    [
        (KeepsAnAttribute(), None, r"breaks the law observing_is_pure: (?s:.*)got: .*\n  expected: "),
        (ChangesItsState(), None, r"breaks the law observing_is_pure: (?s:.*)got: .*\n  expected: "),
        (NumbersAsKeys(), None, r"breaks the law state_survives_json: .*\n  raised KeyError"),
        (NumpySlack(), None, r"breaks the law slack_is_a_duration: .*\n  got:      <class 'numpy.int64'>"),
        (NegativeSlack(), None, r"breaks the law slack_is_a_duration: .*\n  got:      -1\n  expected: 0"),
        (LastDelay(), "1 s", r"breaks the law slack_is_a_duration: .*\n  got:      1000000\n  expected: 1000001"),
        (KnowsOnlyItself(), None, r"breaks the law it_takes_over_from_another: .*\n  raised KeyError: 'last_us'"),
        (NamesNothing(), None, r"breaks the law it_says_what_it_is: "),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_wrong_policy_is_told_which_law_it_breaks(policy: Lateness, max_slack: str | None, message: str) -> None:
    with pytest.raises(LawBroken, match=message):
        check_policy(policy, max_slack=max_slack, max_examples=60)
