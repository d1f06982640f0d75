"""A stand-in for Delta, which is not installed here: a source that passes over transactions that it has seen."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceWriter, WriterCommitMessage
from pyspark.sql.types import StructType


def stand_in_delta(log: Path) -> type[DataSource]:
    """Adds a line to the log for each transaction: its name, its version and the numbers ``n`` of its rows."""

    class Message(WriterCommitMessage):
        def __init__(self, numbers: list[int]) -> None:
            self.numbers = numbers

    class Writer(DataSourceWriter):
        def __init__(self, options: dict[str, str]) -> None:
            self.options = options

        def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
            return Message([row.n for row in iterator])

        def commit(self, messages: list[WriterCommitMessage | None]) -> None:
            seen = [json.loads(line)[:2] for line in log.read_text().splitlines()] if log.exists() else []
            transaction = [self.options["txnappid"], int(self.options["txnversion"])]
            if all(name != transaction[0] or version < transaction[1] for name, version in seen):
                numbers = [n for message in messages if isinstance(message, Message) for n in message.numbers]
                with log.open("a") as file:
                    file.write(json.dumps([*transaction, numbers]) + "\n")

    class Delta(DataSource):
        @classmethod
        def name(cls) -> str:
            return "delta"

        def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
            return Writer({name.lower(): value for name, value in self.options.items()})

    return Delta
