"""What is said about a running query before there is anything to count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from rich.console import Console

from skypane.cli.progress import ProgressPanel
from skypane.lateness.policy import Judgement
from skypane.model.ledger import Ledger
from skypane.spark.metrics import Metrics


@dataclass
class Beginning:
    """A query that has not taken a step yet."""

    is_working: bool

    def metrics(self) -> Metrics:
        return Metrics(Ledger(), Judgement(), 0, 0, None)


@pytest.mark.parametrize(("working", "words"), [(True, "first step: Spark starts"), (False, "waiting for the first")])
def test_before_the_first_step_no_rate_is_shown(working: bool, words: str) -> None:
    query: Any = Beginning(working)
    panel = ProgressPanel(query, "title", live_times=False)
    with (console := Console(width=120)).capture() as shown:
        console.print(panel)
    for text in (panel.line(), shown.get()):
        assert words in text
        assert "records/s" not in text
