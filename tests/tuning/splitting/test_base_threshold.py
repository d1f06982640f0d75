"""The base threshold is the mean plus standard deviation of the shards of the last panes, and survives JSON."""

from __future__ import annotations

import json
import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skypane.tuning.splitting import base_threshold
from skypane.tuning.splitting.base_threshold import WARM_UP_PANES, BaseThreshold

PANES = st.lists(st.lists(st.integers(0, 10**6), max_size=4), max_size=30)


@given(PANES, st.integers(0, 30))
def test_the_threshold_is_that_of_the_panes_remembered(panes: list[list[int]], restored_after: int) -> None:
    memory = 8
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(base_threshold, "MEMORY_PANES", memory)
        threshold = BaseThreshold()
        for index, pane in enumerate(panes):
            if index == restored_after:
                body = json.loads(json.dumps(threshold.to_json()))
                threshold = BaseThreshold()
                threshold.restore(body)
            threshold.observe(pane)
    filled = [[size for size in pane if size] for pane in panes]
    kept = [pane for pane in filled if pane][-memory:]
    shards = [size for pane in kept for size in pane]
    if len(kept) < WARM_UP_PANES:
        assert threshold.records == math.inf
    else:
        wanted = statistics.fmean(shards) + statistics.pstdev(shards)
        assert threshold.records == pytest.approx(wanted, rel=1e-6)
    assert threshold.largest_pane == max(map(sum, kept), default=0)
    assert threshold.mean_pane == (sum(shards) / len(kept) if kept else 0.0)
