"""WinMapReduce: the records of a window to several workers, their results to one."""

from __future__ import annotations

from dataclasses import dataclass

from skypane.tuning.patterns.base import Work, check_decomposable, check_divisible
from skypane.tuning.patterns.extent import Extent
from skypane.tuning.patterns.network import Role
from skypane.tuning.patterns.stages import TwoStages


@dataclass(frozen=True, repr=False)
class WinMapReduce(TwoStages):
    """Distributes a key's records over n workers; each answers its part of every window, m workers join the parts."""

    kind = "WinMapReduce"
    short = "WMR"
    routing = "tuple_rr"
    roles = (Role.DEAL, Role.PARTS)

    @property
    def least(self) -> int:
        """A window cut into one part is not cut."""
        return 2

    def second(self, windows: Extent) -> Extent:
        """Of every n parts one window."""
        del windows
        return Extent(self.n, self.n)

    def check(self, work: Work) -> None:
        """Decomposable functions, whatever the windows."""
        check_divisible(self.kind, work)
        check_decomposable(self.kind, work)

    def sentence(self, work: Work) -> str:
        """One line for ``explain()``."""
        del work
        join = "one joins" if self.m == 1 else f"{self.m} join"
        return f"records are distributed over {self.n}, each answers its part of every window; {join} the parts"
