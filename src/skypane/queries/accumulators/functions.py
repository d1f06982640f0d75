"""Functions: every aggregate function by the name that Spark SQL gives it, and how it is called."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from skypane.model.errors import OptionError
from skypane.model.suggestions import did_you_mean
from skypane.queries.accumulators.base import Accumulator
from skypane.queries.accumulators.chosen import Chosen
from skypane.queries.accumulators.collected import Collected, CollectedSet
from skypane.queries.accumulators.counts import Count
from skypane.queries.accumulators.distinct import MAX_LG_K, MIN_LG_K, ApproxDistinct
from skypane.queries.accumulators.extremes import Extreme
from skypane.queries.accumulators.moments import Variance
from skypane.queries.accumulators.percentiles import Percentiles
from skypane.queries.accumulators.sums import Mean, Sum

RELATIVE_ERROR = 0.05
SAMPLE_SIZE = 10_000
"""Spark's own default."""

_ARRAY = re.compile(r"array\s*\((.*)\)", re.IGNORECASE | re.DOTALL)


class Function(NamedTuple):
    """How a function is called, and what makes its accumulator from the arguments that are no expressions."""

    usage: str
    make: Callable[[str, Sequence[str]], Accumulator]
    expressions: int = 1
    """How many arguments are SQL expressions over the records; those after them are constants."""
    constants: tuple[int, int] = (0, 0)
    """The fewest and the most constants."""


class Call(NamedTuple):
    """A function with its arguments: expressions to compute, and what is made of them."""

    expressions: tuple[str, ...]
    accumulator: Accumulator


def call(function: str, argument: str, asked: str) -> Call:
    """From the text between the parentheses; ``asked`` is the whole, for error messages."""
    known = FUNCTIONS[function]
    if not argument:
        raise OptionError(f"{asked} has no argument: write {known.usage}.")
    if argument.lower().startswith("distinct "):
        raise OptionError(f"{asked}: DISTINCT is not supported. Use approx_count_distinct(x) or collect_set(x, limit).")
    if known.expressions == 1 and known.constants == (0, 0):
        return Call((argument,), known.make(function, ()))
    arguments = split_arguments(argument)
    constants = arguments[known.expressions :]
    min_arguments, max_arguments = known.constants
    if len(arguments) < known.expressions or not min_arguments <= len(constants) <= max_arguments or not all(arguments):
        raise OptionError(f"{asked} has {len(arguments)} arguments: write {known.usage}.")
    try:
        return Call(tuple(arguments[: known.expressions]), known.make(function, constants))
    except OptionError as error:
        raise OptionError(f"{asked}: {error}. Write {known.usage}.") from error


def split_arguments(text: str) -> list[str]:
    """The arguments of a call, at the commas that are in no parentheses and no quotes."""
    parts = [""]
    for sign, depth in _depths(text):
        if sign == "," and not depth:
            parts.append("")
        else:
            parts[-1] += sign
    return [part.strip() for part in parts]


def closes_early(text: str) -> bool:
    """Whether a call ends before its arguments do, as in ``sum(a) / sum(b)``: what is left is no one call."""
    return any(depth < 0 for _, depth in _depths(text))


def _depths(text: str) -> Iterator[tuple[str, int]]:
    """Each sign, and how deep in parentheses and quotes it is."""
    depth, quote, escaped = 0, "", False
    for sign in text:
        inside = 1 if quote else 0
        if quote:
            quote = "" if sign == quote and not escaped else quote
            escaped = sign == "\\" and not escaped and quote != "`"
        elif sign in "'\"`":
            quote = sign
        elif sign in "()[]":
            depth += 1 if sign in "([" else -1
        yield sign, depth + inside


def _by_time(function: str, constants: Sequence[str]) -> Accumulator:
    ignore = constants[0].lower() if constants else "false"
    if ignore not in {"true", "false"}:
        raise OptionError(f"whether to ignore nulls must be true or false, not {ignore}")
    largest = function.startswith("last")
    return Chosen(function, largest=largest, needs_time=True, ignore_nulls=ignore == "true")


def _distinct(function: str, constants: Sequence[str]) -> Accumulator:
    error = _number(constants[0], "the relative error") if constants else RELATIVE_ERROR
    if not 0 < error < 1 or not MIN_LG_K <= ApproxDistinct.lg_k_for(error) <= MAX_LG_K:
        raise OptionError(f"the relative error must be between 0.001 and 0.39, not {error}")
    return ApproxDistinct(function, ApproxDistinct.lg_k_for(error))


def _percentiles(function: str, constants: Sequence[str]) -> Accumulator:
    match = _ARRAY.fullmatch(constants[0])
    texts = split_arguments(match.group(1)) if match else [constants[0]]
    shares = [_number(text, "a percentage") for text in texts]
    if not all(0 <= share <= 1 for share in shares):
        raise OptionError(f"percentages must be between 0 and 1, not {constants[0]}")
    size = _count(constants[1], "the accuracy") if len(constants) > 1 else SAMPLE_SIZE
    return Percentiles(function, shares, size, several=match is not None)


def _number(text: str, what: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise OptionError(f"{what} must be a number, not {text!r}")
    return number


def _count(text: str, what: str) -> int:
    if not (text.isdecimal() and len(text) < 10 and int(text)):
        raise OptionError(f"{what} must be a whole number, 1 or more, not {text!r}")
    return int(text)


def _plain(make: Callable[..., Accumulator], *names: str, **options: bool) -> dict[str, Function]:
    return {name: Function(f"{name}(expression)", lambda own, _: make(own, **options)) for name in names}


FUNCTIONS: dict[str, Function] = {
    "count": Function("count or count(expression)", lambda own, _: Count(own)),
    **_plain(Sum, "sum"),
    **_plain(Mean, "mean", "avg"),
    **_plain(Extreme, "min", "max"),
    **_plain(Variance, "variance", "var_samp"),
    **_plain(Variance, "var_pop", sample=False),
    **_plain(Variance, "stddev", "std", "stddev_samp", root=True),
    **_plain(Variance, "stddev_pop", root=True, sample=False),
    "min_by": Function("min_by(expression, order)", lambda own, _: Chosen(own), 2),
    "max_by": Function("max_by(expression, order)", lambda own, _: Chosen(own, largest=True), 2),
    **{
        name: Function(f"{name}(expression) or {name}(expression, true) to ignore nulls", _by_time, 1, (0, 1))
        for name in ("first", "first_value", "last", "last_value")
    },
    "collect_list": Function(
        "collect_list(expression, limit)", lambda own, said: Collected(own, _count(said[0], "the limit")), 1, (1, 1)
    ),
    "collect_set": Function(
        "collect_set(expression, limit)", lambda own, said: CollectedSet(own, _count(said[0], "the limit")), 1, (1, 1)
    ),
    "approx_count_distinct": Function(
        "approx_count_distinct(expression) or approx_count_distinct(expression, relative_error)", _distinct, 1, (0, 1)
    ),
    **{
        name: Function(
            f"{name}(expression, 0.5) or {name}(expression, array(0.5, 0.9), accuracy)", _percentiles, 1, (1, 2)
        )
        for name in ("approx_percentile", "percentile_approx")
    },
}
"""Every aggregate function, by the name used in ``.aggregate(p="mean(price)")``."""

_PERCENTILE = "of percentiles there is approx_percentile(x, 0.5), exact for up to 10,000 records of a key and window"
_INSTEAD: dict[str, str] = {
    "count_distinct": "an exact count would keep every value: there are approx_count_distinct(x), exact for some "
    "dozens, and collect_set(x, limit)",
    "median": _PERCENTILE,
    "percentile": _PERCENTILE,
    "array_agg": "a list must have an end: collect_list(x, limit)",
    "count_if": "write count(CASE WHEN x THEN 1 END)",
    "any_value": "the order of records never shows: write first(x) or last(x)",
}
"""What there is for functions of Spark SQL that are not here, and why they are not."""


def instead(function: str) -> str:
    """A suggestion for an unknown function, with a space before it; or nothing."""
    if function in FUNCTIONS:
        return ""
    if function in _INSTEAD:
        return f" {function}: {_INSTEAD[function]}."
    return did_you_mean(function, FUNCTIONS)
