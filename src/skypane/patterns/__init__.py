"""Patterns: the parallel plans of paper 3 as small trees: wiring and arithmetic, no records."""

from __future__ import annotations

from skypane.patterns.base import Pattern, Work
from skypane.patterns.key_farm import KeyFarm
from skypane.patterns.pane_farm import PaneFarm
from skypane.patterns.win_farm import WinFarm
from skypane.patterns.win_map_reduce import WinMapReduce
from skypane.patterns.win_seq import WinSeq

__all__ = ["KeyFarm", "PaneFarm", "Pattern", "WinFarm", "WinMapReduce", "WinSeq", "Work"]
