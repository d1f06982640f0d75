"""Apply: a function of the user's over the records of each window."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from skypane.model.ddl import schema_text
from skypane.model.window import Window
from skypane.queries.functions.calls import Call
from skypane.queries.functions.fingerprint import fingerprint
from skypane.queries.functions.returned import ReturnedWrongError, as_rows, check_promised
from skypane.queries.records import RecordsQuery, UserCallError, guarded

CODE = "code"
"""Where a description has the fingerprints of functions: a difference there alone is changed code."""


@dataclass(frozen=True, eq=False)
class Apply(RecordsQuery):
    """The rows that the function returns for a window are its answer; it may return none."""

    kind = "apply"

    call: Call
    schema: pa.Schema

    @classmethod
    def of(cls, function: Callable[..., Any], schema: pa.Schema) -> Apply:
        """Look at the function and at what it promises."""
        check_promised(schema, "schema")
        return cls(Call.of(function, "function"), schema)

    @property
    def returns(self) -> pa.Schema:
        """What the function promises."""
        return self.schema

    def describe(self) -> Mapping[str, object]:
        """The promise, and the function's code."""
        return {"type": self.kind, "schema": types_of(self.schema), CODE: {"function": fingerprint(self.call.function)}}

    def explain(self) -> str:
        """Which function, on what, for what."""
        return f"{self.call.name} gets the records of a window as {self.call.form}, returns {schema_text(self.schema)}"

    def group_rows(self, own: pa.Table, key: tuple[Any, ...], window: Window) -> pa.Table:
        """Call the function."""
        returned = guarded(self.call, key, window, own)
        return promised(self.call, returned, self.schema)


def promised(call: Call, returned: Any, schema: pa.Schema) -> pa.Table:
    """What a function returned, as the rows that it promised."""
    try:
        return as_rows(returned, schema)
    except ReturnedWrongError as error:
        raise UserCallError.of(call, error) from error


def types_of(schema: pa.Schema) -> dict[str, str]:
    """Names and types, for descriptions."""
    return {field.name: str(field.type) for field in schema}
