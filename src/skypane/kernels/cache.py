"""Where compiled kernels are kept between processes: a private directory per user and per kernel source.

Numba's cache files are unpickled when they are read, so the directory must belong to the user and be
closed to everybody else. It must be chosen before numba is imported for the first time.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from skypane.notices import COMPILATION, waiting_for


def _is_private(directory: Path) -> bool:
    status = directory.lstat()
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o022


def _source_tag() -> str:
    # Numba notices a change in a function's own file, not in the file of a function that it calls.
    digest = hashlib.sha256()
    for source in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def private_cache_directory() -> Path:
    """The directory for compiled kernels, created on demand; a temporary one where that is impossible."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "skypane" / "numba"
    try:
        base.mkdir(mode=0o700, parents=True, exist_ok=True)
        if _is_private(base) and os.access(base, os.W_OK | os.X_OK):
            directory = base / _source_tag()
            directory.mkdir(mode=0o700, exist_ok=True)
            if _is_private(directory):
                return directory
    except (OSError, RuntimeError):
        pass  # a read-only or missing home: compile once per process instead of failing
    return Path(tempfile.mkdtemp(prefix="skypane-numba-"))


def use_private_cache() -> None:
    """Point numba at the private directory, unless the user chose one with NUMBA_CACHE_DIR."""
    if os.environ.get("NUMBA_CACHE_DIR"):
        return
    os.environ["NUMBA_CACHE_DIR"] = str(private_cache_directory())
    loaded = sys.modules.get("numba")
    if loaded is not None:  # somebody imported numba before us: it has read the environment already
        loaded.config.CACHE_DIR = os.environ["NUMBA_CACHE_DIR"]


@contextmanager
def one_process_at_a_time() -> Iterator[None]:
    """Around the compilation of a kernel: of Spark's many workers one compiles, the others wait and then load it."""
    lock = None
    with suppress(OSError):  # where there can be no lock, each compiles for itself
        lock = os.open(Path(os.environ["NUMBA_CACHE_DIR"]) / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        with waiting_for(COMPILATION):
            yield
    finally:
        if lock is not None:
            os.close(lock)


use_private_cache()
