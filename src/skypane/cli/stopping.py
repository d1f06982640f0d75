"""Stopping: Ctrl-C and SIGTERM ask a query to end after the step that is under way."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StopRequest:
    """Whether somebody has asked to stop; a second time is for the handlers that were there before."""

    def __init__(self) -> None:
        self.asked = False
        self._before = {number: signal.getsignal(number) for number in SIGNALS}

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Take the signals.

        Spark's own handler of Ctrl-C, which is there as soon as Spark is, cancels the jobs of the step under way.
        """
        self._before = {number: signal.signal(number, self._ask) for number in SIGNALS}
        try:
            yield
        finally:
            self._give_back()

    def _ask(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self.asked = True
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
def starting(number: signal.Signals) -> Iterator[None]:
    """Nothing is under way yet: the signal ends this process at once, as a stop, and is left to it by its children.

    A service manager sends SIGTERM to every process of a service. Processes started in here ignore it for good, as
    Spark's JVM does with Ctrl-C by itself; the JVM ends when this process does.
    """
    before = signal.signal(number, lambda *_: sys.exit(0))
    _ignored_by_children.add(number)
    try:
        yield
    finally:
        _ignored_by_children.discard(number)
        signal.signal(number, before)
