"""Places that a command writes to: what cannot be used is refused before any work is done for it."""

from __future__ import annotations

import os
from pathlib import Path

from skypane.model.errors import OptionError


def check_folder(name: str, path: Path) -> None:
    """Refuse a folder that cannot be made or written; nothing is made."""
    folder = path.absolute()
    try:
        there = next(known for known in (folder, *folder.parents) if known.exists())
    except OSError as error:
        raise OptionError(f"{name}: the folder {folder} cannot be used ({error.strerror}).") from error
    if not there.is_dir():
        raise OptionError(f"{name}: the folder {folder} cannot be made, since {there} is a file.")
    if not os.access(there, os.W_OK):
        raise OptionError(f"{name}: the folder {folder} cannot be made or written, since {there} is read-only.")
