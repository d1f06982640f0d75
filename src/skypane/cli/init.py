"""``skypane init``: a TOML file for ``skypane run`` to begin with, every setting in it and explained."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from skypane.api.options.declarations import SECTIONS, options_of
from skypane.api.options.option import Option
from skypane.model.errors import OptionError

SAMPLE: Mapping[str, Mapping[str, Any]] = {
    "source": {"format": "skypane-traffic", "options": {"records": 200_000, "attributes": 3, "keys": 4, "seed": 7}},
    "query": {
        "type": "skyline",
        "time": "ts",
        "key": ["key"],
        "window": "1 second",
        "slide": "200 milliseconds",
        "minimize": ["a0", "a1", "a2"],
    },
    "lateness": {"policy": "kslack"},
    "sink": {"format": "parquet", "path": "out"},
    "run": {"checkpoint": "checkpoint", "available_now": True},
}
"""What the sample asks: a query over a generated stream that ends by itself."""


def init(
    file: Annotated[Path, typer.Argument(help="The file to write; one that is there is left alone.")] = Path(
        "query.toml"
    ),
) -> None:
    """Write a commented sample of the TOML files that 'skypane run' takes: a query over a generated stream.

    Then: skypane run --check query.toml, and skypane run query.toml
    """
    try:
        with file.open("x", encoding="utf-8") as new:
            new.write(sample())
    except FileExistsError:
        raise OptionError(f"The file {file} is already there. Name another, or delete it first.") from None
    except OSError as error:
        raise OptionError(f"The file {file} cannot be written: {error.strerror}.") from error
    Console().print(f"Wrote {file}. Try: skypane run --check {file}", highlight=False, soft_wrap=True, markup=False)


def sample() -> str:
    """Every section with every setting: chosen ones as they are, the others as comments with their defaults."""
    head = (
        "# A query for 'skypane run'. A line that begins with # is a setting at its default;\n"
        "# where it says (example), there is no default, and the value only shows how to write one.\n"
    )
    return "\n".join([head, *(_section(section) for section in SECTIONS)])


def _section(section: str) -> str:
    chosen = SAMPLE.get(section, {})
    head = f"{'' if chosen else '# '}[{section}]  # {SECTIONS[section]}"
    return "\n".join([head, *(_line(option, chosen) for option in options_of(section))]) + "\n"


def _line(option: Option, chosen: Mapping[str, Any]) -> str:
    if option.name in chosen:
        return f"{option.name} = {toml(chosen[option.name])}  # {option.meaning}"
    if option.default is not None:
        return f"# {option.name} = {toml(option.default)}  # {option.meaning}"
    return f"# {option.name} = {toml(option.kind.example)}  # (example) {option.meaning}"


def toml(value: Any) -> str:
    """A value as TOML writes it: like JSON, but for tables."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name} = {toml(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(toml(item) for item in value) + "]"
    return json.dumps(value, ensure_ascii=False)
