"""Aggregates: any number of named aggregate functions over the records of each window."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from skypane.model.columns import CHANGE, PREFIX, REVISION, WINDOW
from skypane.model.errors import OptionError
from skypane.model.groups import Groups
from skypane.queries.accumulators import ACCUMULATORS, Accumulator, Parts
from skypane.queries.base import Expression, Grouped, Query, Row

_TAKEN = (WINDOW, REVISION, CHANGE)
_CALL = re.compile(r"\s*([A-Za-z_]\w*)\s*(?:\((.*)\))?\s*$", re.DOTALL)


@dataclass(frozen=True)
class Output:
    """One result column: its name, the function, and the SQL expression that is aggregated."""

    name: str
    function: str
    argument: str

    @classmethod
    def parse(cls, name: str, text: str) -> Output:
        """From ``n="count"`` or ``p="mean(price)"``."""
        match = _CALL.match(text) if isinstance(text, str) else None
        known = ", ".join(sorted(ACCUMULATORS))
        if match is None or match.group(1).lower() not in ACCUMULATORS:
            raise OptionError(f"{name}={text!r} is not an aggregate. Write function(expression), with one of: {known}.")
        function, argument = match.group(1).lower(), (match.group(2) or "").strip()
        if function == "count" and argument in {"", "*", "1"}:
            argument = "1"
        elif not argument:
            raise OptionError(f"{name}={text!r} does not say of what: write {function}(column).")
        if name.lower() in _TAKEN or name.lower().startswith(PREFIX):
            raise OptionError(f"An aggregate cannot be called {name!r}; that name is taken. Choose another.")
        return cls(name, function, argument)

    @property
    def accumulator(self) -> Accumulator:
        """The function's implementation."""
        return ACCUMULATORS[self.function]


@dataclass(frozen=True)
class Aggregates(Query):
    """Named aggregate functions of SQL expressions; nulls are left out, as in SQL."""

    kind = "aggregate"

    outputs: tuple[Output, ...]

    @classmethod
    def of(cls, named: Mapping[str, str]) -> Aggregates:
        """From the keyword arguments of ``.aggregate(...)``."""
        if not named:
            raise OptionError("aggregate() needs at least one output, such as n='count' or p='mean(price)'.")
        seen: dict[str, str] = {}
        for name in named:
            if (other := seen.setdefault(name.lower(), name)) != name:
                raise OptionError(f"Aggregates {other!r} and {name!r}: Spark cannot tell the names apart. Rename one.")
        return cls(tuple(Output.parse(name, text) for name, text in named.items()))

    def describe(self) -> Mapping[str, object]:
        """The outputs in order."""
        return {"type": self.kind, "outputs": {o.name: f"{o.function}({o.argument})" for o in self.outputs}}

    def check(self, schema: pa.Schema) -> None:
        """Each function can work on the type its expression has."""
        for index, output in enumerate(self.outputs):
            output.accumulator.check(schema.field(_input(index)).type, output.name)

    def reads(self) -> Sequence[str]:
        """The arguments of the functions."""
        return tuple(self.expressions())

    def added_columns(self) -> Sequence[str]:
        """All of them."""
        return tuple(output.name for output in self.outputs)

    def expressions(self) -> Mapping[str, Expression]:
        """The arguments of the functions."""
        return {
            _input(index): Expression(output.argument, compared=output.accumulator.compares)
            for index, output in enumerate(self.outputs)
        }

    def warm_up(self) -> None:
        """Compile what the functions use."""
        values, groups = pa.chunked_array([[1.0, 2.0]]), Groups.whole(2)
        for function in {output.function for output in self.outputs}:
            parts = ACCUMULATORS[function].lift(values, groups)
            chunked = {name: pa.chunked_array([array]) for name, array in parts.items()}
            ACCUMULATORS[function].combine(chunked, Groups.whole(1))

    def lift(self, rows: pa.Table, groups: Groups) -> Grouped:
        """One row of parts per group."""
        return self._rows(
            groups, [o.accumulator.lift(rows.column(_input(i)), groups) for i, o in enumerate(self.outputs)]
        )

    def combine(self, partials: pa.Table, groups: Groups) -> Grouped:
        """Merge each group's rows of parts into one."""
        return self._rows(
            groups,
            [o.accumulator.combine(self._parts(partials, i), groups) for i, o in enumerate(self.outputs)],
        )

    def lower(self, partials: pa.Table, groups: Groups) -> Grouped:
        """Finish each function."""
        columns = {o.name: o.accumulator.lower(self._parts(partials, i)) for i, o in enumerate(self.outputs)}
        return Grouped(pa.table(columns), groups)

    def reference(self, rows: Sequence[Row]) -> list[Row]:
        """Each function over a plain list."""
        if not rows:
            return []
        answer = {}
        for index, output in enumerate(self.outputs):
            values = [row[_input(index)] for row in rows]
            answer[output.name] = output.accumulator.reference([v for v in values if v is not None])
        return [answer]

    def _parts(self, partials: pa.Table, index: int) -> dict[str, pa.ChunkedArray]:
        prefix = _part(index, "")
        return {
            name.removeprefix(prefix): partials.column(name)
            for name in partials.column_names
            if name.startswith(prefix)
        }

    def _rows(self, groups: Groups, parts: Sequence[Parts]) -> Grouped:
        """One row for every group that has rows; a group without rows has no partial."""
        full = groups.sizes > 0
        table = pa.table({_part(i, name): array for i, named in enumerate(parts) for name, array in named.items()})
        return Grouped(table if full.all() else table.filter(pa.array(full)), Groups.from_sizes(full.astype(np.int64)))


def _input(index: int) -> str:
    return f"{PREFIX}in{index}"


def _part(index: int, name: str) -> str:
    return f"{PREFIX}out{index}_{name}"
