"""DDL: columns as Spark's SQL writes them, ``"price double, tags array<string>"``, as an Arrow schema, and back.

Spark's own parser lives in its JVM; this one needs none, so that mistakes are reported before Spark starts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

import pyarrow as pa

from skypane.model.errors import OptionError

_TOKEN = re.compile(r"\s*(`(?:[^`]|``)*`|'(?:[^'\\]|\\.)*'|[\w.$]+|[<>(),:])")
_PLAIN: Final[Mapping[str, Callable[[], pa.DataType]]] = {
    "boolean": pa.bool_,
    "tinyint": pa.int8,
    "byte": pa.int8,
    "smallint": pa.int16,
    "short": pa.int16,
    "int": pa.int32,
    "integer": pa.int32,
    "bigint": pa.int64,
    "long": pa.int64,
    "float": pa.float32,
    "real": pa.float32,
    "double": pa.float64,
    "string": pa.string,
    "binary": pa.binary,
    "date": pa.date32,
    "timestamp": lambda: pa.timestamp("us", "UTC"),
    "timestamp_ltz": lambda: pa.timestamp("us", "UTC"),
    "timestamp_ntz": lambda: pa.timestamp("us"),
}

_NAMES: Final[Mapping[pa.DataType, str]] = {make(): name for name, make in [*_PLAIN.items()][::-1]} | {
    pa.int64(): "long",
    pa.duration("us"): "interval day to second",
}
"""What types are called: the first of their names, but for ``long``, which the documentation says everywhere."""
_DIGITS: Final = 38

SchemaLike = Any
"""A DDL text, an Arrow schema, or Spark's ``StructType``."""


def as_schema(schema: SchemaLike, what: str) -> pa.Schema:
    """The columns of a DDL text, an Arrow schema or Spark's ``StructType``; ``what`` is the option that errors name."""
    if isinstance(schema, pa.Schema):  # as with the others, any value may be null
        return pa.schema([field.with_nullable(True).remove_metadata() for field in schema])
    if isinstance(schema, str):
        return parse_schema(schema, what)
    if not hasattr(schema, "fields"):
        raise OptionError(f"{what}={schema!r} must be text such as 'city string, price double', or a schema.")
    # A StructType, asked for no more than the names of its types: the core knows nothing of Spark.
    return pa.schema([(f.name, _Parser(f.dataType.simpleString(), what).type()) for f in schema.fields])


def parse_schema(text: str, what: str) -> pa.Schema:
    """The columns of a DDL text; ``what`` is the option that errors name."""
    parser = _Parser(text, what)
    if parser.peek == "struct":
        kind = parser.type()
        fields = [kind.field(index) for index in range(kind.num_fields)]
    else:
        fields = parser.fields(until="")
    parser.take("")
    return pa.schema(fields)


def schema_text(schema: pa.Schema) -> str:
    """Columns as a DDL text."""
    return ", ".join(f"{field.name} {type_text(field.type)}" for field in schema)


def type_text(kind: pa.DataType) -> str:
    """A type as SQL calls it; one that SQL does not have, as Arrow does."""
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision}, {kind.scale})"
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return f"array<{type_text(kind.value_type)}>"
    if pa.types.is_map(kind):
        return f"map<{type_text(kind.key_type)}, {type_text(kind.item_type)}>"
    if pa.types.is_struct(kind):
        return f"struct<{', '.join(f'{field.name}: {type_text(field.type)}' for field in kind)}>"
    return _NAMES.get(kind, str(kind))


class _Parser:
    """Reads one token after the other."""

    def __init__(self, text: str, what: str) -> None:
        self._text, self._what = text, what
        self._tokens: list[str] = []
        place = 0
        while text[place:].strip():
            match = _TOKEN.match(text, place)
            if match is None:
                raise self._error(f"at {text[place:].strip()[:20]!r}")
            self._tokens.append(match.group(1))
            place = match.end()

    @property
    def peek(self) -> str:
        """The next token, in small letters; empty at the end."""
        return self._tokens[0].lower() if self._tokens else ""

    def take(self, wanted: str | None = None) -> str:
        """The next token, which must be the expected one."""
        if wanted is not None and self.peek != wanted:
            raise self._error(f"{wanted or 'the end'!r} is missing before {self.peek or 'the end'!r}")
        return self._tokens.pop(0) if self._tokens else ""

    def fields(self, until: str) -> list[pa.Field]:
        """``name type, name type``."""
        found = [self._field()]
        while self.peek == ",":
            self.take()
            found.append(self._field())
        self.take(until)
        return found

    def type(self) -> pa.DataType:
        """One type, nested ones included."""
        name = self.take().lower()
        if name in ("decimal", "dec", "numeric"):
            return self._decimal()
        if name == "interval":
            words = [self.take().lower() for _ in range(3)]
            if words != ["day", "to", "second"]:
                raise self._error("of intervals only 'interval day to second' can be returned")
            return pa.duration("us")
        if name in ("array", "map", "struct"):
            self.take("<")
            return self._nested(name)
        if name not in _PLAIN:
            raise self._error(
                f"{name or 'nothing'!r} is not a type; there are {', '.join(_PLAIN)}, decimal, array, ..."
            )
        return _PLAIN[name]()

    def _field(self) -> pa.Field:
        name = self.take()
        if not name or name in "<>(),:":
            raise self._error(f"the name of a column is missing before {name or 'the end'!r}")
        if name.startswith("`"):
            name = name[1:-1].replace("``", "`")
        if self.peek == ":":
            self.take()
        kind = self.type()
        if self.peek == "not":
            self.take()
            self.take("null")
        if self.peek == "comment":
            self.take()
            self.take()
        return pa.field(name, kind)

    def _decimal(self) -> pa.DataType:
        if self.peek != "(":
            return pa.decimal128(10, 0)
        self.take()
        precision, scale = self._number(), 0
        if self.peek == ",":
            self.take()
            scale = self._number()
        self.take(")")
        if not 1 <= precision <= _DIGITS or scale > precision:
            raise self._error(f"decimal({precision}, {scale}) has more than {_DIGITS} digits, or fewer than it says")
        return pa.decimal128(precision, scale)

    def _number(self) -> int:
        text = self.take()
        if not text.isdigit():
            raise self._error(f"a number is missing before {text!r}")
        return int(text)

    def _nested(self, name: str) -> pa.DataType:
        if name == "struct":
            return pa.struct(self.fields(until=">"))
        first = self.type()
        if name == "array":
            self.take(">")
            return pa.list_(first)
        self.take(",")
        second = self.type()
        self.take(">")
        return pa.map_(first, second)

    def _error(self, why: str) -> OptionError:
        return OptionError(f"{self._what}={self._text!r}: {why}. Write e.g. 'city string, price double'.")
