"""RunSpec: the settings of ``skypane run``, from a TOML file and from options, each checked by its declaration."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from skypane.api.options import MOVED, OPTIONS, SECTIONS, SINKS, WINDOW_KINDS, Option, options_of
from skypane.model.errors import OptionError
from skypane.model.meant import did_you_mean

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # the same library, before it was part of Python

Spec = dict[str, dict[str, Any]]
"""Settings by section and name; every section is there."""
_OF_WINDOWS = {name for kind, names in WINDOW_KINDS.items() for name in (kind, *names)}
_OF_POLICY = {option.name for option in OPTIONS if option.of_policy}
_OF_ELASTIC = {option.name for option in OPTIONS if option.of_elastic}
_OF_TASKS = (frozenset({"elastic", *_OF_ELASTIC}), frozenset({"degree", "pane_degree"}), frozenset({"pattern"}))
"""Three ways to say how many tasks there are: whoever chooses one does not want the others."""


def load_spec(path: Path | None, given: Mapping[str, Mapping[str, Any]]) -> Spec:
    """The file's settings, replaced by those given on the command line."""
    spec: Spec = {section: {} for section in SECTIONS}
    for section, settings in ({} if path is None else _read(path)).items():
        spec[section] = _section(path, section, settings)
    for section, chosen in given.items():
        # Settings of another policy, another sink or other windows are not wanted with those that were chosen.
        if section in SINKS and "format" in chosen:
            spec[section].clear()
        if section == "lateness" and "policy" in chosen:
            spec[section] = {name: value for name, value in spec[section].items() if name not in _OF_POLICY}
        if section == "parallel":
            unwanted = _of_other_tasks(chosen)
            spec[section] = {name: value for name, value in spec[section].items() if name not in unwanted}
        if section == "query" and set(chosen) & set(WINDOW_KINDS):
            spec[section] = {name: value for name, value in spec[section].items() if name not in _OF_WINDOWS}
        spec[section].update(chosen)
    return spec


def _of_other_tasks(chosen: Mapping[str, Any]) -> set[str]:
    """The settings of ``[parallel]`` that do not go with what was chosen; limits of elastic degrees choose nothing."""
    if chosen.get("elastic") is False:
        return _OF_ELASTIC
    ways = [way for way in _OF_TASKS if set(chosen) & (way - _OF_ELASTIC)]
    return {name for way in _OF_TASKS for name in way if ways and way not in ways}


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


def _section(path: Path | None, section: str, settings: object) -> dict[str, Any]:
    if section not in SECTIONS:
        raise OptionError(f"{path}: unknown section [{section}]. The sections are: {', '.join(SECTIONS)}.")
    if not isinstance(settings, Mapping):
        raise OptionError(f"{path}: {section} must be a section, written [{section}].")
    known = {option.name: option for option in options_of(section)}
    found = {}
    for name, value in settings.items():
        if name not in known:
            raise OptionError(f"{path}: {_unknown(section, name, known)}")
        try:
            found[name] = as_value(known[name], value, name)
        except OptionError as error:
            raise OptionError(f"{path}, [{section}]: {error}") from error
    return found


def _unknown(section: str, name: str, known: Mapping[str, Option]) -> str:
    if section == "run" and name in MOVED:
        there, now = MOVED[name]
        return f"{name} has moved from [run]: write {now} = ... in [{there}]."
    return f"unknown setting {name!r} in [{section}].{did_you_mean(name, known)} The settings are: {', '.join(known)}."
