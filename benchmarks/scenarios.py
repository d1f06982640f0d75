"""Scenarios: the queries whose speed is promised, and what others reach on them."""

from __future__ import annotations

from typing import Any, Final

SCENARIOS: Final[dict[str, tuple[int, str, float, dict[str, Any]]]] = {
    "8 attributes, slide 200 ms, full": (8, "200 milliseconds", 250_000.0, {}),
    "8 attributes, slide 10 ms, changes": (8, "10 milliseconds", 150_000.0, {"emit": "changes"}),
    "6 attributes, slide 10 ms, changes": (6, "10 milliseconds", 500_000.0, {"emit": "changes"}),
}
"""Attributes, slide of a window of one second, a first guess of records per second, options."""
ORIGINALS: Final = {
    "8 attributes, slide 200 ms, full": ("BT-PPQ", 25_000.0),
    "8 attributes, slide 10 ms, changes": ("BT-PPQ", 1_500.0),
    "6 attributes, slide 10 ms, changes": ("WindFlow", 50_000.0),
}
"""What the C++ originals sustain on a quiet two-core machine: reference figures, not measured in this run."""
OVERLAPS: Final = {
    5: "200 milliseconds",
    100: "10 milliseconds",
    1000: "1 millisecond",
}
"""Slides of a window of one second, by how many windows overlap."""
