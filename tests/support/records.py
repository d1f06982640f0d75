"""The records of tests: a number of its own, a time, a key, a partition, two attributes."""

from __future__ import annotations

import pyarrow as pa

SCHEMA = pa.schema(
    [
        ("n", pa.int64()),
        ("ts", pa.timestamp("us", "UTC")),
        ("city", pa.string()),
        ("zone", pa.int32()),
        ("a", pa.float64()),
        ("b", pa.int64()),
    ]
)
