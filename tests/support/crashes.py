"""Crashes at any file operation, without a process to kill: Python itself reports them, and this one forbids one."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

_OPERATIONS = {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.scandir", "os.listdir"}


class Crashed(BaseException):
    """The process died here."""


class Crash:
    """Dies at the n-th file operation below a folder, once."""

    def __init__(self) -> None:
        self._folder = ""
        self._left = 0
        self.happened = False
        sys.addaudithook(self._on_event)

    def arm(self, folder: Path, operation: int) -> None:
        self._folder, self._left, self.happened = str(folder), operation, False

    def disarm(self) -> None:
        self._folder = ""

    def _on_event(self, event: str, args: tuple[Any, ...]) -> None:
        if not self._folder or event not in _OPERATIONS or not str(args[0]).startswith(self._folder):
            return
        self._left -= 1
        if self._left == 0:
            self.disarm()
            self.happened = True
            raise Crashed(f"{event} {args[0]}")
