"""Aggregates: any number of named aggregate functions over the records of each window."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from skypane.model.column_names import ColumnNames
from skypane.model.columns import CHANGE, ID, PREFIX, REVISION, WINDOW
from skypane.model.errors import OptionError
from skypane.model.groups import Groups
from skypane.queries.accumulators.base import Accumulator, InputRow, Inputs, Parts
from skypane.queries.accumulators.functions import FUNCTIONS, Call, call, closes_early, instead
from skypane.queries.base import Expression, Grouped, Query, Row, SqlAggregate

_TAKEN = (WINDOW, REVISION, CHANGE)
_CALL = re.compile(r"\s*([A-Za-z_]\w*)\s*(?:\((.*)\))?\s*$", re.DOTALL)


@dataclass(frozen=True)
class Output:
    """One result column: its name, the function, and its arguments: SQL expressions that are aggregated, constants."""

    name: str
    function: str
    argument: str

    @classmethod
    def parse(cls, name: str, text: str) -> Output:
        """From ``n="count"`` or ``p="mean(price)"``."""
        match = _CALL.match(text) if isinstance(text, str) else None
        if match is None or match.group(1).lower() not in FUNCTIONS or closes_early(match.group(2) or ""):
            hint = "" if match is None else instead(match.group(1).lower())
            raise OptionError(
                f"{name}={text!r} is not an aggregate.{hint} Write function(expression), with one of: "
                f"{', '.join(sorted(FUNCTIONS))}."
            )
        function, argument = match.group(1).lower(), (match.group(2) or "").strip()
        if function == "count" and argument in {"", "*", "1"}:
            argument = "1"
        call(function, argument, f"{name}={text!r}")
        if name.lower() in _TAKEN or name.lower().startswith(PREFIX):
            raise OptionError(f"An aggregate cannot be called {name!r}; that name is taken. Choose another.")
        return cls(name, function, argument)

    @property
    def text(self) -> str:
        """The text of the aggregate as the user wrote it."""
        return f"{self.function}({self.argument})"

    @property
    def expressions(self) -> tuple[str, ...]:
        """What it is computed from."""
        return self._call.expressions

    @property
    def accumulator(self) -> Accumulator:
        """The function's implementation."""
        return self._call.accumulator

    @cached_property
    def _call(self) -> Call:
        return call(self.function, self.argument, f"{self.name}={self.text!r}")


@dataclass(frozen=True)
class Aggregates(Query):
    """Named aggregate functions of SQL expressions; nulls are left out, as in SQL."""

    kind = "aggregate"
    in_threads = True

    outputs: tuple[Output, ...]
    time: str | None = None
    """The column that says when a record happened, for functions that ask."""

    @classmethod
    def of(cls, named: Mapping[str, str], time: str | None = None) -> Aggregates:
        """From the keyword arguments of ``.aggregate(...)``, and the stream's time column."""
        if not named:
            raise OptionError("aggregate() needs at least one output, such as n='count' or p='mean(price)'.")
        seen: dict[str, str] = {}
        for name in named:
            if (other := seen.setdefault(name.lower(), name)) != name:
                raise OptionError(f"Aggregates {other!r} and {name!r}: Spark cannot tell the names apart. Rename one.")
        outputs = tuple(Output.parse(name, text) for name, text in named.items())
        for output in outputs:
            if output.accumulator.needs_time and time is None:
                raise OptionError(
                    f"{output.name}={output.text!r} needs the time of each record. Give time='the column'."
                )
        return cls(outputs, time)

    def resolved(self, names: ColumnNames) -> Aggregates:
        """With the time as the records spell it."""
        return self if self.time is None else replace(self, time=names.find(self.time, "Time column"))

    def describe(self) -> Mapping[str, object]:
        """The outputs, and their order, by which partials know them."""
        order = [output.name for output in self.outputs]
        return {"type": self.kind, "outputs": {o.name: o.text for o in self.outputs}, "order": order}

    def explain(self) -> str:
        """The outputs, in their order."""
        return ", ".join(f"{output.name} = {output.text}" for output in self.outputs)

    def check(self, schema: pa.Schema) -> None:
        """Each function can work on the types its expressions have."""
        for index, output in enumerate(self.outputs):
            output.accumulator.check(schema.field(_input(index)).type, output.name)
            if len(output.expressions) > 1:
                output.accumulator.check_order(schema.field(_order(index)).type, output.name)

    def reads(self) -> Sequence[str]:
        """The arguments of the functions, and what they are chosen by."""
        times = [self._by(index) for index, output in enumerate(self.outputs) if output.accumulator.needs_time]
        ids = [ID] if self.needs_record_id() else []
        return tuple(dict.fromkeys(name for name in (*self.expressions(), *times, *ids) if name is not None))

    def added_columns(self) -> Sequence[str]:
        """Every output column."""
        return tuple(output.name for output in self.outputs)

    def expressions(self) -> Mapping[str, Expression]:
        """The arguments of the functions."""
        found = {}
        for index, output in enumerate(self.outputs):
            found[_input(index)] = Expression(output.expressions[0], compared=output.accumulator.compares)
            if len(output.expressions) > 1:
                found[_order(index)] = Expression(output.expressions[1], compared=True)
        return found

    def needs_record_id(self) -> bool:
        """Whether some function cuts ties."""
        return any(output.accumulator.needs_id for output in self.outputs)

    def warm_up(self) -> None:
        """Compile what the functions use."""
        numbers = pa.chunked_array([[1.0, 2.0]])
        inputs = Inputs(numbers, numbers, pa.chunked_array([[1, 2]]))
        for output in {output.function: output for output in self.outputs}.values():
            parts = output.accumulator.lift(inputs, Groups.whole(2))
            table = pa.table(parts)
            output.accumulator.combine(dict(zip(table.column_names, table.columns, strict=True)), Groups.whole(1))

    def lift(self, rows: pa.Table, groups: Groups) -> Grouped:
        """One row of parts per group."""
        return self._rows(
            groups, [o.accumulator.lift(self._inputs(rows, i), groups) for i, o in enumerate(self.outputs)]
        )

    def condensed(self, schema: pa.Schema) -> Mapping[str, SqlAggregate] | None:
        """Of functions that are all exact in SQL."""
        found: dict[str, SqlAggregate] = {}
        for index, output in enumerate(self.outputs):
            parts = output.accumulator.condensed(schema.field(_input(index)).type)
            if parts is None:
                return None
            found |= {_part(index, name): SqlAggregate(sql, _input(index)) for name, sql in parts.items()}
        return found

    def lift_condensed(self, rows: pa.Table) -> pa.Table:
        """A row of parts for each."""
        parts = {
            _part(index, name): array
            for index, output in enumerate(self.outputs)
            for name, array in output.accumulator.condensed_parts(self._parts(rows, index)).items()
        }
        return pa.table(parts)

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
            by, needs_id = self._by(index), output.accumulator.needs_id
            inputs = [
                InputRow(row[_input(index)], None if by is None else row[by], row[ID] if needs_id else 0)
                for row in rows
            ]
            answer[output.name] = output.accumulator.reference(inputs)
        return [answer]

    def _by(self, index: int) -> str | None:
        """The column by which a function orders."""
        output = self.outputs[index]
        return self.time if output.accumulator.needs_time else _order(index) if len(output.expressions) > 1 else None

    def _inputs(self, rows: pa.Table, index: int) -> Inputs:
        by, needs_id = self._by(index), self.outputs[index].accumulator.needs_id
        return Inputs(
            rows.column(_input(index)), None if by is None else rows.column(by), rows.column(ID) if needs_id else None
        )

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


def _order(index: int) -> str:
    return f"{PREFIX}by{index}"


def _part(index: int, name: str) -> str:
    return f"{PREFIX}out{index}_{name}"
