"""ConsoleSink: rows as a table on the terminal."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from skypane.spark.sinks.base import Sink, StepRows


class ConsoleSink(Sink):
    """Prints the rows of every step that has any, at most ``max_rows`` of each."""

    def __init__(self, max_rows: int = 20, console: Console | None = None) -> None:
        self._max_rows = max_rows
        self._console = console or Console()

    def publish(self, step: int, rows: StepRows) -> None:
        """Print them."""
        if not rows.rows:
            return
        table = rows.table()
        shown = Table(title=f"step {step}: {rows.rows:,} rows", title_justify="left")
        for name in table.column_names:
            shown.add_column(escape(name), justify="left" if name == "window" else "right", no_wrap=True)
        for row in table.slice(0, self._max_rows).to_pylist():
            shown.add_row(*(escape(_text(value)) for value in row.values()))
        self._console.print(shown)
        if rows.rows > self._max_rows:
            self._console.print(f"... and {rows.rows - self._max_rows:,} more")

    def describe(self) -> str:
        """The terminal."""
        return "the console"


def _text(value: Any) -> str:
    if isinstance(value, dict) and {"start", "end"} == set(value):
        return f"{_text(value['start'])} .. {_text(value['end'])[-12:]}"
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
    return f"{value:.6g}" if isinstance(value, float) else str(value)
