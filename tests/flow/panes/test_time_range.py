"""Times whose windows do not fit in 64 bits are quarantined; all others are answered."""

from __future__ import annotations

import pyarrow as pa
import pytest

from skypane.flow.definition import Definition
from skypane.lateness.future_guard import FutureGuard
from skypane.lateness.policies.fixed_delay import FixedDelay
from skypane.local.engine import Engine
from skypane.model.errors import OptionError
from skypane.model.windows import FARTHEST_US, WindowSpec
from skypane.queries.aggregates import Aggregates

OUTSIDE = [2**63 - 1, -(2**63), FARTHEST_US + 1, -FARTHEST_US - 1]
INSIDE = [FARTHEST_US, -FARTHEST_US, 0]


@pytest.mark.parametrize("window", [WindowSpec(1_000_000, 1_000_000), WindowSpec(2**59, 2**57)], ids=str)
@pytest.mark.parametrize("zone", ["UTC", None])
def test_times_out_of_range_are_quarantined(window: WindowSpec, zone: str | None) -> None:
    definition = Definition(Aggregates.of({"n": "count"}), window, "ts", time_zone=zone)
    engine = Engine(definition, FixedDelay("1 day"), FutureGuard(None))
    rows = pa.table({"ts": pa.array([*OUTSIDE, None, *INSIDE], pa.timestamp("us", zone))})
    state, first = engine.step(engine.start(), [rows])
    state, last = engine.flush(state)
    assert dict(state.ledger.quarantined_by_reason) == {"time out of range": len(OUTSIDE), "null time": 1}
    assert state.ledger.accepted == len(INSIDE)
    answers = pa.concat_tables([*first.answers, *last.answers])
    assert (
        pa.compute.sum(answers.column("n")).as_py() == len(INSIDE) * window.panes_per_window // window.panes_per_slide
    )


def test_windows_of_ages_are_refused() -> None:
    with pytest.raises(OptionError, match="shorter than 18,000 years"):
        WindowSpec.parse("20000000 days")
