"""ConsoleSink: rows as a table on the terminal."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import SparkSession
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from skypane.spark.sinks.base import Continuation, Sink, StepRows
from skypane.tables.texts import table_texts

_ANY_WIDTH = 1_000_000


class ConsoleSink(Sink):
    """Prints the rows of every step that has any, at most ``max_rows`` of each.

    A table that is wider than the terminal would hide values: then every value gets a line of its own.
    """

    def __init__(self, max_rows: int = 20, console: Console | None = None) -> None:
        self._max_rows = max_rows
        self._console = console or Console()
        self._outputs: list[tuple[pa.Schema, str]] = []

    def open(self, spark: SparkSession, schema: pa.Schema, continuation: Continuation | None = None) -> None:
        """Remember which output this is, for the titles: one terminal shows all outputs."""
        del spark
        if continuation is not None and continuation.output != "sink":
            self._outputs.append((schema, f", {continuation.output}"))

    def publish(self, step: int, rows: StepRows) -> None:
        """Print the rows of a step."""
        if not rows.rows:
            return
        first = rows.table().slice(0, self._max_rows)
        output = next((name for schema, name in self._outputs if schema.equals(rows.schema)), "")
        title, names, texts = f"step {step}{output}: {rows.rows:,} rows", first.column_names, table_texts(first)
        shown = _table(title, names, texts)
        needed = self._console.measure(shown, options=self._console.options.update(max_width=_ANY_WIDTH)).maximum
        if needed <= self._console.width:
            self._console.print(shown)
        else:
            self._console.print(_lines(title, names, texts), markup=False, highlight=False, soft_wrap=True)
        if rows.rows > self._max_rows:
            self._console.print(f"... and {rows.rows - self._max_rows:,} more")

    def describe(self) -> str:
        """One line for ``explain()``."""
        return "the console"


def _table(title: str, names: Sequence[str], texts: Sequence[Sequence[str]]) -> Table:
    table = Table(title=title, title_justify="left")
    for name in names:
        table.add_column(escape(name), justify="left" if name == "window" else "right", no_wrap=True)
    for row in texts:
        table.add_row(*(escape(text) for text in row))
    return table


def _lines(title: str, names: Sequence[str], texts: Sequence[Sequence[str]]) -> str:
    width = max(map(len, names))
    blocks = [
        f"  row {number}\n" + "\n".join(f"    {name:{width}}  {text}" for name, text in zip(names, row, strict=True))
        for number, row in enumerate(texts, start=1)
    ]
    return "\n".join([title, *blocks])
