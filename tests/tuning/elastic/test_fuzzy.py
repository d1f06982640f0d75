"""The fuzzy engine: grades, rules, conclusions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skypane.model.errors import OptionError
from skypane.tuning.elastic.controllers import UTILIZATION
from skypane.tuning.elastic.fuzzy import Rule, RuleBase, Trapezoid, Variable, triangle


def test_the_papers_worked_value() -> None:
    assert UTILIZATION.grades(0.6) == pytest.approx({"fast": 0.75, "acceptable": 0.25, "slow": 0.0})


@pytest.mark.parametrize(
    ("value", "grade"), [(0.9, 0.0), (1.0, 0.0), (1.5, 0.5), (2.0, 1.0), (3.0, 1.0), (4.0, 0.5), (5.0, 0.0), (9.0, 0.0)]
)
def test_a_trapezoid(value: float, grade: float) -> None:
    assert Trapezoid(1.0, 2.0, 3.0, 5.0).grade(value) == pytest.approx(grade)


def test_upright_sides_belong_to_the_top() -> None:
    wall = Trapezoid(1.0, 1.0, 2.0, 2.0)
    assert [wall.grade(x) for x in (0.9, 1.0, 2.0, 2.1)] == [0.0, 1.0, 1.0, 0.0]
    assert triangle(0.0, 1.0, 2.0).grade(1.0) == 1.0


@given(st.floats(-5.0, 50.0))
def test_what_a_utilization_is_called_adds_up_to_one(rho: float) -> None:
    grades = UTILIZATION.grades(rho)
    assert sum(grades.values()) == pytest.approx(1.0)


LOAD = Variable({"low": Trapezoid(0.0, 0.0, 0.0, 1.0), "high": Trapezoid(0.0, 1.0, 1.0, 1.0)}, 0.0, 1.0)


def test_rules_that_say_the_same_count_once_with_the_most_active() -> None:
    base = RuleBase(
        {"a": LOAD, "b": LOAD},
        {"less": 0.5, "more": 1.5},
        [
            Rule({"a": "low", "b": "low"}, {"out": "less"}),
            Rule({"a": "low", "b": "high"}, {"out": "less"}),
            Rule({"a": "high"}, {"out": "more"}),
        ],
    )
    said = base.conclude({"a": 0.4, "b": 0.5})
    # low(a) = 0.6, high(a) = 0.4; the first two rules are active with 0.5 each and count as one.
    assert said.outputs["out"] == pytest.approx((0.5 * 0.5 + 0.4 * 1.5) / 0.9)
    assert [weight for _, weight in said.fired] == pytest.approx([0.5, 0.5, 0.4])
    assert said.fired[0].rule == "a low and b low: less out"


def test_an_output_of_which_no_rule_speaks_is_left_out() -> None:
    base = RuleBase({"a": LOAD}, {"more": 1.5}, [Rule({"a": "high"}, {"out": "more"})])
    said = base.conclude({"a": 0.0})
    assert said.outputs == {}
    assert said.fired == ()


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        (Rule({"a": "huge"}, {"out": "more"}), "reads a as 'huge'"),
        (Rule({"b": "low"}, {"out": "more"}), "reads b as 'low'"),
        (Rule({"a": "low"}, {"out": "most"}), "sets out to 'most'"),
    ],
)
def test_a_rule_about_what_there_is_not_is_refused(rule: Rule, why: str) -> None:
    with pytest.raises(OptionError, match=why):
        RuleBase({"a": LOAD}, {"more": 1.5}, [rule])
