"""Every kind of tree keeps the laws, and a tree that breaks one is told which."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from skypane.testing import LawBroken, check_pattern
from skypane.tuning.patterns.base import Pattern
from skypane.tuning.patterns.pane_farm import PaneFarm
from skypane.tuning.patterns.parse import parse_pattern
from skypane.tuning.patterns.tree_plan import TreePlan
from tests.support.patterns import TREES


@pytest.mark.parametrize("text", TREES)
def test_trees_keep_the_laws(text: str) -> None:
    check_pattern(parse_pattern(text), max_examples=10)


@dataclass(frozen=True, repr=False)
class Idle(PaneFarm):
    """Says that it has one worker more than it has."""

    @property
    def workers(self) -> int:
        return super().workers + 1


@dataclass(frozen=True, repr=False)
class NoTasks(PaneFarm):
    def stage_plan(self) -> TreePlan:
        return replace(super().stage_plan(), key_tasks=0)


@pytest.mark.parametrize(
    ("tree", "law"), [(Idle(2, 2), "a_network_answers_windows"), (NoTasks(2, 2), "stages_have_tasks")]
)
def test_a_broken_law_is_named(tree: Pattern, law: str) -> None:
    with pytest.raises(LawBroken, match=law):
        check_pattern(tree)
