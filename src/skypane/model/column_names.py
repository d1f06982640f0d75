"""Column names: which column a name stands for, or an error that names the nearest one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from skypane.model.columns import PREFIX
from skypane.model.errors import OptionError, SchemaError
from skypane.model.suggestions import did_you_mean


@dataclass(frozen=True)
class ColumnNames:
    """The names of a table's columns."""

    names: tuple[str, ...]
    case_sensitive: bool = True
    """Whether ``Price`` and ``price`` are two columns; Spark's setting ``spark.sql.caseSensitive`` says so."""

    def find(self, name: str, role: str) -> str:
        """The column that a name stands for, as the table spells it; ``role`` is what the error calls it."""
        if name in self.names:
            return name
        if not self.case_sensitive:
            for own in self.names:
                if own.lower() == name.lower():
                    return own
        raise missing_column(self.names, name, role)


def missing_column(names: Iterable[str], name: str, role: str) -> SchemaError:
    """The error for a name that is no column: the nearest one, and what there is."""
    own = [known for known in names if not known.startswith(PREFIX)]
    outer = name.partition(".")[0]
    hint = f" {outer!r} is one: give its field a column of its own first." if outer != name and outer in own else ""
    question = hint or did_you_mean(name, own)
    return SchemaError(f"{role} {name!r} is not a column.{question} The columns are: {', '.join(own)}.")


def column_names(given: object, option: str) -> tuple[str, ...]:
    """The names that an option was given: one, several or none; anything else is refused."""
    if given is None:
        return ()
    if isinstance(given, str):
        return (given,)
    names = _items(given)
    if names is None:
        raise OptionError(f"{option}={given!r} must be a column name or a list of column names, such as ['price'].")
    for name in names:
        if not isinstance(name, str):
            raise OptionError(f"{option} takes the names of columns, as text, not {name!r}.")
    return names


def _items(given: object) -> tuple[Any, ...] | None:
    if isinstance(given, Mapping | bytes) or not isinstance(given, Iterable):
        return None
    try:
        return tuple(given)
    except TypeError:  # a Column of Spark has an iterator, which only raises
        return None
