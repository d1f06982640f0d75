"""RunFlags: the options of ``skypane run``, one for each that is declared, and what was given for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import Parameter
from typing import Annotated, Any

import typer
from rich.markup import escape

from skypane.api.options.declarations import OPTIONS, SECTIONS, SINKS
from skypane.api.options.option import Option
from skypane.cli.parameters import keyword, with_parameters
from skypane.cli.run_spec import Spec, as_value

MAIN_SETTING = {"kslack": "max_slack", "fixed_delay": "delay", "drop_ratio": "target", "harm": "target"}
"""What stands behind the colon: ``--lateness fixed_delay:5s``."""


def with_run_flags(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command one option for each that is declared; they arrive as ``given``, by section and name."""
    declared = [option for option in OPTIONS if option.command]
    extra = [*map(_parameter, declared), *(_off_parameter(option) for option in declared if option.kind.switch)]
    return with_parameters(command, extra, "given", given_settings)


def given_settings(flags: Mapping[str, Any]) -> Spec:
    """The settings behind what was given on the command line, each checked."""
    spec: Spec = {section: {} for section in SECTIONS}
    for option in OPTIONS:
        value = False if flags.get(_off(option)) else flags.get(_identifier(option))
        if value not in (None, [], ()):
            spec[option.section].update(_settings(option, value))
    return spec


def _parameter(option: Option) -> Parameter:
    flag, kind = str(option.command), option.kind
    typed: Any = bool | None if kind.switch else list[str] | None if kind.repeated else str | None
    declared = typer.Option(
        flag,
        help=escape(_help(option)),
        show_default=False if option.default is None else str(option.default).lower(),
        metavar="" if kind.switch else option.value or kind.metavar,
        rich_help_panel=f"[{option.section}]: {SECTIONS[option.section]}".replace("[", r"\["),
    )
    return keyword(_identifier(option), Annotated[typed, declared])


def _off_parameter(option: Option) -> Parameter:
    """``--no-...`` of a switch; not in a column of its own, for which a narrow terminal has no place."""
    return keyword(_off(option), Annotated[bool | None, typer.Option(switched_off(option), hidden=True)])


def _help(option: Option) -> str:
    needed = " Needed." if option.needed else ""
    again = " Repeat it for several." if option.kind.repeated else ""
    off = f" Off: {switched_off(option)}." if option.kind.switch else ""
    return f"{option.meaning}{needed}{again}{off}"


def _identifier(option: Option) -> str:
    return option.path.replace(".", "_")


def _off(option: Option) -> str:
    return f"{_identifier(option)}_off"


def switched_off(option: Option) -> str:
    """How a switch is turned off."""
    return f"--no-{str(option.command).removeprefix('--')}"


def _settings(option: Option, given: Any) -> dict[str, Any]:
    """What one flag sets: itself, and what stands behind a colon."""
    flag = str(option.command)
    if option.kind.repeated:
        value = option.kind.gather(flag, given)
    elif option.section in SINKS:
        kind, _, path = given.partition(":")
        return {"format": kind, **({"path": path} if path else {})}
    elif option.path == "lateness.policy":
        return _policy(option, given, flag)
    else:
        value = given if option.kind.switch or given == "none" else option.kind.read(flag, given)
    return {option.name: as_value(option, value, flag)}


def _policy(option: Option, text: str, flag: str) -> dict[str, Any]:
    if text.strip()[:1].isdigit():  # a duration to wait, as lateness() takes it in Python
        text = f"fixed_delay:{text}"
    name, colon, value = text.partition(":")
    settings = {"policy": as_value(option, name.strip(), flag)}
    if not colon:
        return settings
    main = next(o for o in OPTIONS if o.of_policy and o.name == MAIN_SETTING[name.strip()])
    what = f"{flag} {text}: {main.name}"
    return {**settings, main.name: as_value(main, main.kind.read(what, value.strip()), what)}
