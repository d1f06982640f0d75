"""Spelling: how an option is written in Python, and where options are that were written otherwise before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from skypane.api.options.declarations import options_of
from skypane.api.options.option import Option

MOVED: Final[Mapping[str, str]] = {
    **{f"parallel.{option.name}": option.path for option in options_of("parallel.tuning")},
    "lateness.across": "partition.across",
    "lateness.max_lag": "partition.max_lag",
    "lateness.partition_timeout": "partition.timeout",
    "lateness.max_future": "lateness.guard.max_future",
    "lateness.future_support": "lateness.guard.support",
    "lateness.clock_tolerance": "lateness.guard.clock_tolerance",
    "run.emit": "query.emit",
    "run.expiries": "query.expiries",
    "run.max_future": "lateness.guard.max_future",
    "run.future_support": "lateness.guard.support",
    "run.allowed_lateness": "lateness.allowed",
    "run.harm_horizon": "lateness.harm_horizon",
    "run.processing": "parallel.tuning.processing",
    "run.slide": "parallel.tuning.sliding",
    "run.slide_strategy": "parallel.tuning.sliding",
    "run.degree": "parallel.degree",
    "run.inline_rows": "parallel.tuning.inline_rows",
    "run.splitting": "parallel.tuning.splitting",
    "run.pane_degree": "parallel.tuning.pane_degree",
    "run.window_scheduling": "parallel.tuning.window_scheduling",
}
"""The paths of options in earlier versions, and their paths now."""
_CALLS: Final[Mapping[str, str]] = {
    "partition": "sp.stream(..., partition=sp.Partition('column', {}))",
    "lateness": ".lateness({})",
    "lateness.guard": ".lateness(guard=sp.TimeGuard({}))",
    "parallel": ".parallel({})",
    "parallel.tuning": ".parallel(tuning=sp.Tuning({}))",
    "run": ".start({})",
}
"""The call that takes the options of a section."""
_EMIT: Final = ("query.emit", "query.expiries")


def has_own_step(option: Option) -> bool:
    """Whether a step of a query takes the option by its name."""
    return option.path in _EMIT or (option.section in _CALLS and option.section != "partition" and not option.of_policy)


def call(option: Option) -> str:
    """The call that takes an option in Python, with braces in place of its arguments."""
    if option.path in _EMIT:
        return ".emit({})"
    return ".parallel(elastic=sp.Elastic({}))" if option.of_elastic else _CALLS[option.section]


def in_python(values: Mapping[Option, str]) -> str:
    """Options of one call with their values, as Python writes them."""
    written = [f"{option.name}={value}" for option, value in values.items() if option.path != "query.emit"]
    first = next(iter(values))
    if first.path in _EMIT:
        what = [value for option, value in values.items() if option.path == "query.emit"]
        written = [*(what or ["..."]), *written]
    return call(first).format(", ".join(written))
