"""format_name: one name for a format, however it is written."""

from __future__ import annotations

import re
from typing import Final

_CLASSES: Final = (
    re.compile(r"org\.apache\.spark\.sql(?:\.execution\.datasources)?(?:\.v2)?(?:\.hive)?\.([a-z]+)(?:\.\w+)?"),
    re.compile(r"com\.databricks\.spark\.(avro|csv|xml)(?:\.\w+)?"),
    re.compile(r"(?:io|org\.apache\.spark\.sql)\.(delta)(?:\.\w+)*"),
    re.compile(r"org\.apache\.spark\.sql\.(kafka)010(?:\.\w+)?"),
)
"""The packages and classes that Spark takes for a format as well."""


def format_name(written: str) -> str:
    """The short name of a format, in small letters: ``parquet`` for ``Parquet`` and ``org.apache.spark.sql.parquet``.

    Spark ignores the case of formats, and takes the names of their classes, too. Compare no format before this.
    """
    name = written.strip().lower()
    classes = (pattern.fullmatch(name) for pattern in _CLASSES)
    return next((match[1] for match in classes if match), name)
