"""RunSpec: the settings of ``skypane run``, from a TOML file and from options, each checked by its declaration."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from skypane.api.options.declarations import OPTIONS, SECTIONS, SINKS, WINDOW_KINDS, option_at, options_of
from skypane.api.options.option import Option
from skypane.api.options.spelling import MOVED
from skypane.model.errors import OptionError
from skypane.model.suggestions import did_you_mean, nearest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # the same library, before it was part of Python

Spec = dict[str, dict[str, Any]]
"""Settings by section and name; every section is there."""
_OF_WINDOWS = {f"query.{name}" for kind, names in WINDOW_KINDS.items() for name in (kind, *names)}
_OF_POLICY = {option.path for option in OPTIONS if option.of_policy}
_OF_ELASTIC = {option.path for option in OPTIONS if option.of_elastic}
_OF_TASKS = (
    frozenset({"parallel.elastic", *_OF_ELASTIC}),
    frozenset({"parallel.degree", "parallel.tuning.pane_degree"}),
    frozenset({"parallel.pattern"}),
)
"""Three ways to set how many tasks there are: one replaces the others."""


def load_spec(path: Path | None, given: Mapping[str, Mapping[str, Any]]) -> Spec:
    """The file's settings, replaced by those given on the command line."""
    spec: Spec = {section: {} for section in SECTIONS}
    for section, settings in ({} if path is None else _read(path)).items():
        if "." in section:  # ["lateness.guard"] is one name to TOML, and would replace the section of that path
            raise OptionError(f'{path}: ["{section}"] is quoted; write [{section}].')
        spec.update(_section(path, section, settings))
    for unwanted in _replaced(
        {f"{section}.{name}": v for section, chosen in given.items() for name, v in chosen.items()}
    ):
        section, _, name = unwanted.rpartition(".")
        spec[section].pop(name, None)
    for section, chosen in given.items():
        spec[section].update(chosen)
    return spec


def _replaced(chosen: Mapping[str, Any]) -> set[str]:
    """The settings of a file that do not go with what was chosen: those of another sink, policy, window or tree."""
    sinks = {option.path for sink in SINKS if f"{sink}.format" in chosen for option in options_of(sink)}
    policy = _OF_POLICY if "lateness.policy" in chosen else set()
    windows = _OF_WINDOWS if any(f"query.{kind}" in chosen for kind in WINDOW_KINDS) else set()
    return {*sinks, *policy, *windows, *_of_other_tasks(chosen)}


def _of_other_tasks(chosen: Mapping[str, Any]) -> set[str]:
    """The settings of other ways to set how many tasks there are; limits of elastic degrees choose none."""
    if chosen.get("parallel.elastic") is False:
        return _OF_ELASTIC
    ways = [way for way in _OF_TASKS if set(chosen) & (way - _OF_ELASTIC)]
    return {path for way in _OF_TASKS for path in way if ways and way not in ways}


def as_value(option: Option, value: object, what: str) -> object:
    """The value of a setting, checked; ``none`` says that there is to be none."""
    value = None if value == "none" and option.none else value
    option.check(value, what)
    return value


def _read(path: Path) -> dict[str, Any]:
    try:
        body: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise OptionError(f"There is no file {path}. 'skypane init {path}' writes a sample.") from None
    except (OSError, ValueError) as error:
        raise OptionError(f"The file {path} cannot be read: {error}") from error
    return body


def _section(path: Path | None, section: str, settings: object) -> Spec:
    """The settings of a section and of those within it, each checked."""
    if section not in SECTIONS:
        question = did_you_mean(section, SECTIONS)
        raise OptionError(f"{path}: unknown section [{section}].{question} The sections are: {', '.join(SECTIONS)}.")
    if not isinstance(settings, Mapping):
        raise OptionError(f"{path}: {section} must be a section, written [{section}].")
    known = {option.name: option for option in options_of(section)}
    found: Spec = {section: {}}
    for name, value in settings.items():
        if f"{section}.{name}" in SECTIONS:
            found |= _section(path, f"{section}.{name}", value)
        elif name in known:
            found[section][name] = _setting(path, known[name], value)
        else:
            raise OptionError(f"{path}: {_unknown(section, name, known)}")
    return found


def _setting(path: Path | None, option: Option, value: object) -> object:
    if option.path == "lateness.policy" and isinstance(value, str) and value.strip()[:1].isdigit():
        raise OptionError(
            f"{path}, [lateness]: policy={value!r} is a duration. To wait so long, write policy = 'fixed_delay' and "
            f"delay = {value!r}."
        )
    try:
        return as_value(option, value, option.name)
    except OptionError as error:
        raise OptionError(f"{path}, [{option.section}]: {error}") from error


def _unknown(section: str, name: str, known: Mapping[str, Option]) -> str:
    if (path := MOVED.get(f"{section}.{name}")) is not None:
        now = option_at(path)
        return f"{name} has moved from [{section}]: write {now.name} = ... in [{now.section}]."
    within = [inner.rpartition(".")[2] for inner in SECTIONS if inner.startswith(f"{section}.")]
    near = nearest(name, [*known, *within])
    meant = f"[{section}.{near}]" if near in within else repr(near)
    question = "" if near is None else f" Did you mean {meant}?"
    return f"unknown setting {name!r} in [{section}].{question} The settings are: {', '.join(known)}."
