"""Every pane strategy passes the published law suite, which catches wrong ones and says which law they break."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from skypane.testing.law import LawBroken
from skypane.testing.pane_strategy_laws import check_pane_strategy
from skypane.tuning.splitting.pane_strategies import PANE_STRATEGIES, StrategyFactory, pane_strategy
from skypane.tuning.splitting.pane_strategy import Allocation, PaneStrategy, Queues
from skypane.tuning.splitting.splitting_controller import ControlOptions

SOON = ControlOptions(warm_up_periods=2)


@pytest.mark.parametrize("name", PANE_STRATEGIES)
def test_strategy_keeps_the_laws(name: str) -> None:
    check_pane_strategy(name, max_examples=60)


def test_a_strategy_under_control_keeps_the_laws() -> None:
    """Also when the relay experiment is over soon."""
    check_pane_strategy(lambda degree: pane_strategy("adaptive_pid", degree, SOON), max_examples=60)


class Turns(PaneStrategy):
    """Each pane to the worker whose turn it is: right, until a test makes it wrong."""

    name = "turns"

    def __init__(self, degree: int) -> None:
        super().__init__(degree)
        self.turn = 0

    def choose(self, pane: int, records: int, shards: Mapping[int, int], queues: Queues) -> list[Allocation]:
        del pane, shards, queues
        self.turn = (self.turn + 1) % self.degree
        return [Allocation(self.turn, records)]

    def on_resize(self, before: int) -> None:
        del before
        self.turn %= self.degree

    def memory(self) -> Mapping[str, Any]:
        return {"turn": self.turn}

    def recall(self, memory: Mapping[str, Any]) -> None:
        self.turn = memory["turn"]


class LosesRecords(Turns):
    def choose(self, pane: int, records: int, shards: Mapping[int, int], queues: Queues) -> list[Allocation]:
        return [Allocation(worker, records // 2) for worker, _ in super().choose(pane, records, shards, queues)]


class OneTooMany(Turns):
    def choose(self, pane: int, records: int, shards: Mapping[int, int], queues: Queues) -> list[Allocation]:
        return [Allocation(worker + 1, count) for worker, count in super().choose(pane, records, shards, queues)]


class Forgets(Turns):
    def recall(self, memory: Mapping[str, Any]) -> None:
        pass


class StaysLarge(Turns):
    """Remembers a worker that is gone."""

    def choose(self, pane: int, records: int, shards: Mapping[int, int], queues: Queues) -> list[Allocation]:
        return [Allocation(self.turn, records)]

    def feedback(self, measurement: Any) -> None:
        self.turn = self.degree - 1

    def on_resize(self, before: int) -> None:
        pass


class Chance(Turns):
    rng = random.Random(1)

    def choose(self, pane: int, records: int, shards: Mapping[int, int], queues: Queues) -> list[Allocation]:
        return [Allocation(self.rng.randrange(self.degree), records)]


class AlwaysAdapts(Turns):
    """Takes a resize to the same degree for a turn."""

    def resize(self, degree: int) -> None:
        super().resize(degree)
        self.turn = (self.turn + 1) % degree

    def restore(self, body: Mapping[str, Any]) -> None:
        super().restore(body)
        self.turn = body["turn"] % self.degree


class SharesWithCopies(Turns):
    def copy(self) -> PaneStrategy:
        return self


def test_a_right_strategy_passes() -> None:
    check_pane_strategy(Turns, max_examples=60)


@pytest.mark.parametrize(
    ("strategy", "message"),
    [
        (LosesRecords, r"breaks the law allocations_add_up: .*\n  got:      0\n  expected: 1"),
        (OneTooMany, r"breaks the law allocations_add_up: .*\n  got:      \[\(1, 1\)\]\n  expected: \[\]"),
        (StaysLarge, r"breaks the law allocations_add_up: .*\n  got:      \[\(1, 1\)\]\n  expected: \[\]"),
        (Chance, r"breaks the law|does not do the same"),
        (Forgets, r"breaks the law a_restart_changes_nothing: "),
        (SharesWithCopies, r"breaks the law a_copy_is_another_strategy: "),
        (AlwaysAdapts, r"breaks the law (resizing_to_the_same_degree|restoring_with_another_degree)"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_wrong_strategy_is_told_which_law_it_breaks(strategy: StrategyFactory, message: str) -> None:
    with pytest.raises(LawBroken, match=message):
        check_pane_strategy(strategy, max_examples=100)


def test_what_makes_no_strategy_is_refused() -> None:
    makers: list[Callable[[int], Any]] = [int, lambda degree: "turns"]
    for maker in makers:
        with pytest.raises(
            Exception, match=r"which is no pane strategy. Give a class derived from sp.extend.PaneStrategy"
        ):
            check_pane_strategy(maker)
