"""A sink of your own: answers in a table of an SQLite database, each step exactly once."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import skypane as sp


class SqliteSink(sp.extend.Sink):
    """One row per answer row, as JSON, with the step that sent it. Give every query a database of its own."""

    def __init__(self, path: str | Path) -> None:
        self._path = path

    def publish(self, step: int, rows: sp.extend.StepRows) -> None:
        """In one transaction: a step that comes again replaces itself."""
        texts = [(step, json.dumps(row, default=str)) for row in rows.table().to_pylist()]
        with closing(sqlite3.connect(self._path)) as database, database:
            database.execute("CREATE TABLE IF NOT EXISTS answers (step INTEGER, row TEXT)")
            database.execute("DELETE FROM answers WHERE step = ?", (step,))
            database.executemany("INSERT INTO answers VALUES (?, ?)", texts)

    def describe(self) -> str:
        """For ``query.explain()``."""
        return f"SQLite {self._path}"

    def read(self) -> list[sp.extend.Row]:
        """All answers so far."""
        with closing(sqlite3.connect(self._path)) as database:
            return [json.loads(text) for (text,) in database.execute("SELECT row FROM answers ORDER BY step")]
