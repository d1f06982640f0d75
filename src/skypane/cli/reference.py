"""Reference: the declared options as tables for docs/command-line.md."""

from __future__ import annotations

from skypane.api.options.declarations import SECTIONS, options_of
from skypane.api.options.option import Option
from skypane.cli.init import toml
from skypane.cli.run_flags import switched_off


def as_markdown() -> str:
    """One table for each section of the TOML file."""
    return "\n\n".join(_table(section) for section in SECTIONS)


def _table(section: str) -> str:
    lines = [
        f"### `[{section}]`: {SECTIONS[section]}",
        "",
        "| setting | command line | default | allowed | meaning |",
        "| --- | --- | --- | --- | --- |",
    ]
    return "\n".join([*lines, *(_row(option) for option in options_of(section))])


def _row(option: Option) -> str:
    command = f"`{option.command or f'--{option.section} FORMAT:PATH'}`"
    if option.kind.switch:
        command += f", `{switched_off(option)}`"
    default = "needed" if option.needed else "" if option.default is None else f"`{toml(option.default)}`"
    return f"| `{option.name}` | {command} | {default} | {option.allowed} | {option.help} |".replace("  |", " |")
