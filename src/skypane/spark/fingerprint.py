"""Fingerprint: what a checkpoint remembers of a query and its records; another one is another query."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from skypane.flow.definition import Definition
from skypane.model.columns import PREFIX


def fingerprint(definition: Definition, records: pa.Schema) -> Mapping[str, Any]:
    """The question, and the columns of its records."""
    columns = {field.name: _type_name(field.type) for field in records if not field.name.startswith(PREFIX)}
    return {**definition.describe(), "columns": columns}


def _type_name(kind: pa.DataType) -> str:
    """The type without the session's time zone, which only changes how times are shown."""
    if pa.types.is_timestamp(kind):
        return "timestamp" if kind.tz else "timestamp_ntz"
    return str(kind)
