"""Trees to test with: every pattern, the nestings, the levels."""

from __future__ import annotations

from typing import Final

from hypothesis import strategies as st

from skypane.tuning.patterns import KeyFarm, PaneFarm, Pattern, WinFarm, WinMapReduce, WinSeq

TREES: Final = (
    "WS",
    "KF(3)",
    "WF(3)",
    "PF(2,3)",
    "PF(1,1) L1",
    "PF(3,1) L2",
    "WMR(2,2)",
    "WMR(3,1) L1",
    "WF(PF(2,2) L2, 2) L1",
    "WF(WMR(2,1) L1, 2) L2",
    "KF(PF(2,2), 2)",
    "KF(WMR(2,2) L2, 2)",
    "KF(WF(2), 2)",
    "KF(WF(PF(1,2) L1, 2), 2) L1",
)

_degrees, _levels = st.integers(1, 3), st.integers(0, 2)
_stages: st.SearchStrategy[Pattern] = st.one_of(
    st.builds(PaneFarm, _degrees, _degrees, _levels), st.builds(WinMapReduce, st.integers(2, 3), _degrees, _levels)
)


def _farm(kind: type[WinFarm] | type[KeyFarm], replica: st.SearchStrategy[Pattern]) -> st.SearchStrategy[Pattern]:
    return st.builds(lambda inner, n, level: kind(inner, n, level=level), replica, _degrees, _levels)


_sequence: st.SearchStrategy[Pattern] = st.just(WinSeq())
_plain = st.one_of(_sequence, _stages)
_farms = _farm(WinFarm, _plain)
trees: st.SearchStrategy[Pattern] = st.one_of(_plain, _farms, _farm(KeyFarm, st.one_of(_plain, _farms)))
"""Random ones."""
