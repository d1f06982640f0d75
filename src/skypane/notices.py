"""Notices: a line that says what is waited for, if it takes long."""

from __future__ import annotations

import io
import logging
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, TextIO

PATIENCE_S: Final = 5.0
"""How long nothing is said."""
COMPILATION: Final = "numba to compile kernels, once on this machine"
_said: set[str] = set()
_log = logging.getLogger("skypane")


def start_of_spark(log: Path) -> str:
    """What is waited for when Spark starts."""
    return f"Spark to start (its log: {log.absolute()})"


def has_said(what: str) -> None:
    """Someone else has said it: the command line says what it does in its own words."""
    _said.add(what)


@contextmanager
def waiting_for(what: str) -> Iterator[None]:
    """Say on stderr that ``what`` is waited for, once, if it takes longer than some seconds.

    Where logging is set up, it is a line of the logger ``skypane`` instead, of level INFO: then the program decides
    what its users see. A logger that is disabled, or silent up to warnings, silences it in either case.
    """
    _log.info("Waiting for %s.", what)
    if what in _said or _log.hasHandlers() or not _log.isEnabledFor(logging.WARNING):
        yield
        return
    stream = _stderr()
    timer = threading.Timer(PATIENCE_S, _say, (stream, what))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        if stream is not sys.stderr:
            stream.close()


def _stderr() -> TextIO:
    """Where stderr goes now: it may be redirected while Spark starts. A notebook has a stream of its own."""
    with suppress(AttributeError, OSError, io.UnsupportedOperation):
        if sys.stderr.fileno() == 2:
            return os.fdopen(os.dup(2), "w")
    return sys.stderr


def _say(stream: TextIO, what: str) -> None:
    if what in _said:  # by a wait around this one
        return
    _said.add(what)
    with suppress(OSError, ValueError, AttributeError):  # nobody listens: that must not end what is waited for
        print(f"skypane: waiting for {what} ...", file=stream, flush=True)
