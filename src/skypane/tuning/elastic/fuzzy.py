"""Fuzzy control: rules in words over graded terms, joined into one number for each output.

A *term* grades a number between 0 and 1 (``trapezoid``); a *rule* is a sentence, e.g. ``panes slow and windows fast``,
and what follows from it. A rule is as active as the weakest of its conditions (min). Rules that say the same of an
output count once, with the most active of them (max); the output is the mean of what is said, weighted by activity
(zero-order Sugeno). Paper 2 describes the mean over rules instead, but its authors' logs were made by this one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from skypane.model.errors import OptionError


class Trapezoid(NamedTuple):
    """A term: 0 up to ``left``, 1 from ``rises`` to ``falls``, 0 again from ``right`` on; straight in between."""

    left: float
    rises: float
    falls: float
    right: float

    def grade(self, value: float) -> float:
        """How far the term is true of a number."""
        if self.rises <= value <= self.falls:
            return 1.0
        if value < self.rises:
            return max(0.0, (value - self.left) / (self.rises - self.left)) if self.rises > self.left else 0.0
        return max(0.0, (self.right - value) / (self.right - self.falls)) if self.right > self.falls else 0.0


def triangle(left: float, peak: float, right: float) -> Trapezoid:
    """A term that is wholly true of one number only."""
    return Trapezoid(left, peak, peak, right)


@dataclass(frozen=True)
class Variable:
    """An input: what it may be called, and the range in which it is looked at."""

    terms: Mapping[str, Trapezoid]
    lowest: float
    highest: float

    def grades(self, value: float) -> dict[str, float]:
        """How far each term is true."""
        seen = min(self.highest, max(self.lowest, value))
        return {name: term.grade(seen) for name, term in self.terms.items()}


@dataclass(frozen=True)
class Rule:
    """If all of ``conditions`` (variable: term), then ``outputs`` (output: term)."""

    conditions: Mapping[str, str]
    outputs: Mapping[str, str]

    def __str__(self) -> str:
        when = " and ".join(f"{name} {term}" for name, term in self.conditions.items())
        return f"{when}: " + ", ".join(f"{term} {name}" for name, term in self.outputs.items())


class Fired(NamedTuple):
    """A rule that had a say, and how much."""

    rule: str
    weight: float


@dataclass(frozen=True)
class Conclusion:
    """What the rules say together."""

    outputs: Mapping[str, float]
    """Of every output that some rule spoke of."""
    fired: tuple[Fired, ...]


@dataclass(frozen=True)
class RuleBase:
    """Variables, the numbers that output terms stand for, and the rules."""

    variables: Mapping[str, Variable]
    values: Mapping[str, float]
    rules: Sequence[Rule]

    def __post_init__(self) -> None:
        for rule in self.rules:
            for name, term in rule.conditions.items():
                if name not in self.variables or term not in self.variables[name].terms:
                    raise OptionError(
                        f"the rule '{rule}' reads {name} as {term!r}, a term that {name} does not have. Use one of "
                        "its terms."
                    )
            for name, term in rule.outputs.items():
                if term not in self.values:
                    raise OptionError(
                        f"the rule '{rule}' sets {name} to {term!r}, a term without a number. Use one of its terms."
                    )

    def conclude(self, inputs: Mapping[str, float]) -> Conclusion:
        """Evaluate all rules."""
        grades = {name: variable.grades(inputs[name]) for name, variable in self.variables.items()}
        active = [(rule, min(grades[name][term] for name, term in rule.conditions.items())) for rule in self.rules]
        active = [(rule, weight) for rule, weight in active if weight > 0]
        graded: dict[str, dict[str, float]] = {}
        for rule, weight in active:
            for name, term in rule.outputs.items():
                of_output = graded.setdefault(name, {})
                of_output[term] = max(of_output.get(term, 0.0), weight)
        outputs = {
            name: sum(weight * self.values[term] for term, weight in terms.items()) / sum(terms.values())
            for name, terms in graded.items()
        }
        return Conclusion(outputs, tuple(Fired(str(rule), weight) for rule, weight in active))
