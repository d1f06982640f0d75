"""Stopping: Ctrl-C and SIGTERM ask a query to end after the step that is under way."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StopRequest:
    """Set by the first signal to stop; a second signal goes to the handlers that were installed before."""

    def __init__(self) -> None:
        self.requested = False
        self._before = {number: signal.getsignal(number) for number in SIGNALS}

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Take the signals, and give them back in the end."""
        self.listen()
        try:
            yield
        finally:
            self._give_back()

    def listen(self) -> None:
        """Take the signals, again if need be.

        Spark's own handler of Ctrl-C, which is there as soon as Spark is, cancels the jobs of the step under way.
        """
        if self.requested:
            return
        for number in SIGNALS:
            handler = signal.signal(number, self._ask)
            if handler != self._ask:
                self._before[number] = handler

    def _ask(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self.requested = True
        self._give_back()

    def _give_back(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)


_ignored_by_children: set[signal.Signals] = set()


def _ignore() -> None:
    for number in _ignored_by_children:
        signal.signal(number, signal.SIG_IGN)


os.register_at_fork(after_in_child=_ignore)


@contextmanager
def children_ignore(number: signal.Signals) -> Iterator[None]:
    """Processes started in here ignore the signal for good, as Spark's JVM does with Ctrl-C by itself.

    A service manager sends SIGTERM to every process of a service. The JVM ends when this process does. This process
    itself goes on to take the signal: one that comes while Spark is starting must not be lost.
    """
    _ignored_by_children.add(number)
    try:
        yield
    finally:
        _ignored_by_children.discard(number)
