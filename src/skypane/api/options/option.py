"""Option: the declaration of one option, the same for Python, the command line and TOML files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from skypane.api.options.kinds import Kind


@dataclass(frozen=True)
class Option:
    """The declaration of one option: its kind of value, default, help text and command-line flag."""

    path: str
    """Where a TOML file has it: the section, a dot and the name, such as ``lateness.guard.support``."""
    kind: Kind
    help: str
    default: Any = None
    """``None``: there is none, or none of what the option is about."""
    needed: bool = False
    none: bool = False
    """Whether ``None`` differs from the default; in text it is written ``none``."""
    flag: str | None = ""
    """The flag on the command line: empty for the option's own name, ``None`` if it is part of another flag."""
    value: str = ""
    """How the command line writes a value, if not as its kind does."""
    of_policy: bool = False
    """Whether it belongs to the lateness policy: in Python, an argument of its constructor."""
    of_elastic: bool = False
    """Whether it belongs to elastic degrees: in Python, an argument of ``sp.Elastic``."""

    @property
    def section(self) -> str:
        """The section of the TOML file, such as ``lateness.guard``."""
        return self.path.rpartition(".")[0]

    @property
    def name(self) -> str:
        """Its name within the section."""
        return self.path.rpartition(".")[2]

    @property
    def command(self) -> str | None:
        """How it is written on the command line."""
        return None if self.flag is None else f"--{self.flag or self.name.replace('_', '-')}"

    @property
    def meaning(self) -> str:
        """What it is for, and what there is to choose from."""
        return f"{self.help} One of {self.kind.allowed}." if self.kind.named else self.help

    @property
    def allowed(self) -> str:
        """What a value may be, in words."""
        return self.kind.allowed + (", none" if self.none else "")

    def check(self, value: object, what: str | None = None) -> None:
        """Raise an :class:`~skypane.model.errors.OptionError` unless the value is allowed."""
        if value is None and (self.none or self.default is None):
            return
        self.kind.check(what or self.name, value)
