"""Patterns: the parallel plans of paper 3 as small trees: wiring and arithmetic, no records."""

from __future__ import annotations

from skypane.tuning.patterns.base import Pattern, Work
from skypane.tuning.patterns.key_farm import KeyFarm
from skypane.tuning.patterns.pane_farm import PaneFarm
from skypane.tuning.patterns.win_farm import WinFarm
from skypane.tuning.patterns.win_map_reduce import WinMapReduce
from skypane.tuning.patterns.win_seq import WinSeq

__all__ = ["KeyFarm", "PaneFarm", "Pattern", "WinFarm", "WinMapReduce", "WinSeq", "Work"]
