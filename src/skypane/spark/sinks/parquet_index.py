"""ParquetIndex: which file has answers of which windows, so that a revision need not look into all of them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from skypane.spark.sinks.folder import Published


class Starts(NamedTuple):
    """The first and the last start of a window that a file has answers of."""

    first: int
    last: int

    def note(self) -> str:
        """A form for the folder's log."""
        return f"{self.first} {self.last}"

    @classmethod
    def parse(cls, note: str) -> Starts | None:
        """The inverse of :meth:`note`; ``None`` for what is not one."""
        numbers = note.split()
        try:
            return cls(*(int(number) for number in numbers))
        except (ValueError, TypeError):
            return None


class ParquetIndex:
    """The files of a sink by step. Finding those with answers of some windows costs what is found, not what there is.

    Windows come roughly in the order of time. So beside each file stands the last window start of all files up to it,
    which never falls: everything before the place where it reaches a window is too old to have answers of it.
    """

    def __init__(self, files: Sequence[Published] = ()) -> None:
        self._files: list[Published] = []
        self._reaches: list[float] = []
        for file in files:
            self._append(file)

    def of_step(self, step: int) -> list[Published]:
        """The files of a step."""
        low, high = self._range(step)
        return self._files[low:high]

    def replace(self, step: int, files: Sequence[Published]) -> None:
        """Put files in place of those that the step had."""
        low, high = self._range(step)
        later = self._files[high:]
        del self._files[low:], self._reaches[low:]
        for file in (*files, *later):
            self._append(file)

    def discard(self, file: Published) -> None:
        """Remove a file from the index."""
        low, high = self._range(file.step)
        place = self._files.index(file, low, high)
        del self._files[place], self._reaches[place]

    def overlapping(self, starts: Starts, before: int) -> Iterator[Published]:
        """Files of steps before that one with answers of windows that start in the range, as far as is known."""
        first = bisect_left(self._reaches, starts.first)
        for file in self._files[first : self._range(before)[0]]:
            own = Starts.parse(file.note)
            if own is None or (own.first <= starts.last and own.last >= starts.first):
                yield file

    def _append(self, file: Published) -> None:
        own = Starts.parse(file.note)
        reach = float("inf") if own is None else own.last
        self._files.append(file)
        self._reaches.append(max(reach, self._reaches[-1]) if self._reaches else reach)

    def _range(self, step: int) -> tuple[int, int]:
        return (
            bisect_left(self._files, step, key=lambda file: file.step),
            bisect_right(self._files, step, key=lambda file: file.step),
        )
