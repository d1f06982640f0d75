"""Errors a user can meet: each message names the column, option or file, and the remedy."""

from __future__ import annotations


class SkypaneError(Exception):
    """Base of every error that skypane raises on purpose."""


class OptionError(SkypaneError, ValueError):
    """An option, or a combination of options, makes no sense."""


class SchemaError(SkypaneError, ValueError):
    """A column is missing, or has a type the query cannot use."""


class DataError(SkypaneError, ValueError):
    """A row cannot be used, and the caller asked for strictness."""


class SourceError(SkypaneError, RuntimeError):
    """The DataFrame that a query reads fails: its own expressions, or a function of the user's in it."""


class FunctionError(SkypaneError, RuntimeError):
    """A function of the user's failed, or returned what it was not to: names the function, the key and the window."""


class StorageError(SkypaneError, RuntimeError):
    """A step cannot be written: there is no room, its folder was removed, or a file of results cannot be read."""


class CheckpointError(SkypaneError, RuntimeError):
    """A checkpoint cannot be continued: changed query, damaged file, unknown version."""


class DependencyError(SkypaneError, ImportError):
    """A package that is not installed is needed: names what needs it, and how to install it."""
