"""Kinds of options: what a value may be, read from text or checked as it is; the error names the option."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, time, timedelta
from typing import ClassVar

from skypane.model.durations import parse_duration_us
from skypane.model.errors import OptionError
from skypane.model.suggestions import did_you_mean
from skypane.tuning.patterns.base import Pattern
from skypane.tuning.patterns.parse import parse_pattern

_PLAIN = (str, int, float, list, tuple, dict, date, time)
"""What a TOML file can hold: never one of our objects."""


class Kind(ABC):
    """What a value may be."""

    metavar: ClassVar[str]
    """How a value is called where options are listed."""
    repeated: ClassVar[bool] = False
    """Whether the option may be given several times on the command line."""
    switch: ClassVar[bool] = False
    """Whether the option alone says yes there, and with ``no-`` before its name no."""
    named: ClassVar[bool] = False
    """Whether its help has to say what is allowed: names cannot be guessed."""

    @property
    @abstractmethod
    def example(self) -> object:
        """A value, for the sample file."""

    @property
    @abstractmethod
    def allowed(self) -> str:
        """The allowed values, in words, for documentation and error messages."""

    @abstractmethod
    def check(self, what: str, value: object) -> None:
        """Raise an :class:`OptionError` that says ``what`` is wrong; values of Python and of TOML alike."""

    def read(self, what: str, text: str) -> object:
        """The value that a text of the command line stands for; :meth:`check` still has to judge it."""
        del what
        return text

    def gather(self, what: str, texts: list[str]) -> object:
        """Read the values of an option that was given several times."""
        return [self.read(what, text) for text in texts]


@dataclass(frozen=True)
class Text(Kind):
    """Any text but an empty one."""

    like: str
    metavar: ClassVar[str] = "TEXT"

    @property
    def example(self) -> object:
        """A valid value, for samples and documentation."""
        return self.like

    @property
    def allowed(self) -> str:
        """The allowed values: text, with an example."""
        return f"text such as '{self.like}'"

    def check(self, what: str, value: object) -> None:
        """Refuse anything but text."""
        if not isinstance(value, str) or not value:
            raise OptionError(f"{what}={value!r} must be {self.allowed}.")


@dataclass(frozen=True)
class Choice(Kind):
    """One of some names; with ``objects`` also an object, which the option's class checks."""

    names: tuple[str, ...]
    objects: bool = False
    metavar: ClassVar[str] = "NAME"
    named: ClassVar[bool] = True

    @property
    def example(self) -> object:
        """A valid value, for samples and documentation."""
        return self.names[0]

    @property
    def allowed(self) -> str:
        """The allowed names."""
        return ", ".join(self.names)

    def check(self, what: str, value: object) -> None:
        """Refuse other names."""
        if value not in self.names and (isinstance(value, _PLAIN) or not self.objects):
            question = did_you_mean(value, self.names) if isinstance(value, str) else ""
            raise OptionError(f"{what}={value!r} is unknown; it must be one of {self.allowed}.{question}")


@dataclass(frozen=True)
class Length(Kind):
    """A duration, or one of some words."""

    zero: bool = False
    words: tuple[str, ...] = ()
    metavar: ClassVar[str] = "DURATION"

    @property
    def example(self) -> object:
        """A valid value, for samples and documentation."""
        return "5 seconds"

    @property
    def allowed(self) -> str:
        """What else than a duration."""
        return ", ".join(["a duration", *(["zero"] if self.zero else []), *self.words])

    def check(self, what: str, value: object) -> None:
        """A duration that can be parsed."""
        if value in self.words:
            return
        if not isinstance(value, str | timedelta):
            raise OptionError(f"{what}={value!r} must be {self.allowed}; durations are text such as '200 ms'.")
        parse_duration_us(value, what, zero_ok=self.zero)


@dataclass(frozen=True)
class Whole(Kind):
    """A whole number."""

    low: int
    high: int | None = None
    metavar: ClassVar[str] = "NUMBER"

    @property
    def example(self) -> object:
        """A valid value, for samples and documentation."""
        return max(self.low, 10)

    @property
    def allowed(self) -> str:
        """The allowed range."""
        return f"a whole number from {self.low}" + (f" to {self.high}" if self.high is not None else "")

    def check(self, what: str, value: object) -> None:
        """A whole number within the range; True is none."""
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not whole or value < self.low or (self.high is not None and value > self.high):  # type: ignore[operator]  # an int
            raise OptionError(f"{what}={value!r} must be {self.allowed}.")

    def read(self, what: str, text: str) -> object:
        """Read a number from text."""
        try:
            return int(text.replace("_", ""))
        except ValueError:
            raise OptionError(f"{what}={text!r} must be {self.allowed}.") from None


@dataclass(frozen=True)
class Share(Kind):
    """A share between 0 and 1."""

    metavar: ClassVar[str] = "SHARE"

    @property
    def example(self) -> object:
        """A valid value, for samples and documentation."""
        return 0.01

    @property
    def allowed(self) -> str:
        """The allowed range."""
        return "a share between 0 and 1, e.g. 0.01 (on the command line also 1%)"

    def check(self, what: str, value: object) -> None:
        """A number between 0 and 1."""
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
            raise OptionError(f"{what}={value!r} must be {self.allowed}.")

    def read(self, what: str, text: str) -> object:
        """A number or a percentage."""
        try:
            return float(text.strip().removesuffix("%")) / (100 if text.strip().endswith("%") else 1)
        except ValueError:
            raise OptionError(f"{what}={text!r} must be {self.allowed}.") from None


@dataclass(frozen=True)
class Flag(Kind):
    """Yes or no, or one of some words."""

    words: tuple[str, ...] = ()
    objects: bool = False
    """Whether an object may say more than yes."""
    metavar: ClassVar[str] = ""
    switch: ClassVar[bool] = True

    @property
    def example(self) -> object:
        """A valid value, for samples and documentation."""
        return True

    @property
    def allowed(self) -> str:
        """The two values, and the words."""
        return " or ".join(("true", "false", *self.words))

    def check(self, what: str, value: object) -> None:
        """A truth value, or a word."""
        if self.objects and not isinstance(value, _PLAIN) and value is not None:
            return
        if not isinstance(value, bool) and not (isinstance(value, str) and value in self.words):
            raise OptionError(f"{what}={value!r} must be {self.allowed}.")


@dataclass(frozen=True)
class Names(Kind):
    """A name, or several."""

    like: str = "name"
    metavar: ClassVar[str] = "NAME"
    repeated: ClassVar[bool] = True

    @property
    def example(self) -> object:
        """A valid value, for samples and documentation."""
        return [self.like]

    @property
    def allowed(self) -> str:
        """One name or several."""
        return "a name or a list of names"

    def check(self, what: str, value: object) -> None:
        """Refuse anything but names as text."""
        names = [value] if isinstance(value, str) else value
        if not isinstance(names, list | tuple) or not all(isinstance(name, str) and name for name in names):
            raise OptionError(f"{what}={value!r} must be {self.allowed}.")


@dataclass(frozen=True)
class Expressions(Names):
    """SQL expressions, one or several."""

    metavar: ClassVar[str] = "SQL"

    @property
    def allowed(self) -> str:
        """One expression or several, by an example."""
        return f"a SQL expression such as '{self.like}', or a list of them"


@dataclass(frozen=True)
class Tree(Kind):
    """A tree of patterns, as an object or as text, or one of some words."""

    words: tuple[str, ...] = ()
    metavar: ClassVar[str] = "TREE"

    @property
    def example(self) -> object:
        """A valid value, for samples and documentation."""
        return "KF(4)"

    @property
    def allowed(self) -> str:
        """The notation, by an example."""
        return ", ".join(["a tree such as WF(PF(2,3) L2, 10) L1", *self.words])

    def check(self, what: str, value: object) -> None:
        """A tree, or a text that means one."""
        if isinstance(value, Pattern) or value in self.words:
            return
        if not isinstance(value, str):
            raise OptionError(f"{what}={value!r} must be {self.allowed}.")
        parse_pattern(value)


@dataclass(frozen=True)
class Pairs(Kind):
    """Names with values."""

    like: tuple[str, str] = ("name", "value")
    texts: bool = False
    """Whether values have to be text; else numbers and truth values will do, too."""
    metavar: ClassVar[str] = "NAME=VALUE"
    repeated: ClassVar[bool] = True

    @property
    def example(self) -> object:
        """A valid value, for samples and documentation."""
        return dict([self.like])

    @property
    def allowed(self) -> str:
        """The notation, by an example."""
        return f"a table such as {{{self.like[0]} = '{self.like[1]}'}}"

    def check(self, what: str, value: object) -> None:
        """A table of plain values."""
        plain = str if self.texts else str | int | float
        if not isinstance(value, Mapping) or not all(isinstance(v, plain) for v in value.values()):
            raise OptionError(f"{what}={value!r} must be {self.allowed}.")

    def gather(self, what: str, texts: list[str]) -> object:
        """One name and value in each."""
        pairs = {}
        for text in texts:
            name, equals, value = text.partition("=")
            if not equals or not name.strip():
                raise OptionError(f"{what} {text!r} must be written name=value.")
            pairs[name.strip()] = value.strip()
        return pairs
