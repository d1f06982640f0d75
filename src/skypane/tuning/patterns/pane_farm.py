"""PaneFarm: panes to one stage, windows of panes to the other."""

from __future__ import annotations

from dataclasses import dataclass

from skypane.model.errors import OptionError
from skypane.tuning.patterns.base import Work, check_decomposable, check_divisible
from skypane.tuning.patterns.extent import Extent
from skypane.tuning.patterns.network import Role
from skypane.tuning.patterns.stages import TwoStages


@dataclass(frozen=True, repr=False)
class PaneFarm(TwoStages):
    """n workers answer panes of gcd(w, s), once for all windows; m answer windows from the panes."""

    kind = "PaneFarm"
    short = "PF"
    needs_overlap = True
    routing = "pane_rr"
    roles = (Role.SEND_PANES, Role.PANES)

    def second(self, windows: Extent) -> Extent:
        """Windows of so many panes."""
        return windows.of_panes

    def check(self, work: Work) -> None:
        """Decomposable functions of windows that overlap."""
        check_divisible(self.kind, work)
        check_decomposable(self.kind, work)
        size, slide = work.windows
        if not work.windows.overlaps:
            raise OptionError(
                f"{self}: panes pay where windows overlap, and windows of {work.shown(size)} every "
                f"{work.shown(slide)} do not. Use WinMapReduce({max(2, self.n)}, {self.m}) or KeyFarm(n)."
            )

    def sentence(self, work: Work) -> str:
        """One line for ``explain()``."""
        second = self.second(work.windows)
        return (
            f"{_answer(self.n)} panes of {work.shown(work.windows.pane)}, {_answer(self.m)} windows of {second.size} "
            f"panes, one every {second.slide}"
        )


def _answer(workers: int) -> str:
    return "one answers" if workers == 1 else f"{workers} answer"
