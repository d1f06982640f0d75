"""WinMapReduce: the records of a window to several workers, their results to one."""

from __future__ import annotations

from dataclasses import dataclass

from skypane.patterns.base import Work, check_decomposable, check_divisible
from skypane.patterns.extent import Extent
from skypane.patterns.network import Role
from skypane.patterns.stages import TwoStages


@dataclass(frozen=True, repr=False)
class WinMapReduce(TwoStages):
    """The records of a key are dealt out to n workers, who answer their part of every window; m join n parts each."""

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
        """In words."""
        del work
        join = "one joins" if self.m == 1 else f"{self.m} join"
        return f"records are dealt out to {self.n}, each answers its part of every window; {join} the parts"
