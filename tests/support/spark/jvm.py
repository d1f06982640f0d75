"""Flags of the JVMs that tests start: they live shortly, so they compile little, collect simply and load an archive."""

from __future__ import annotations

import sys
from pathlib import Path

ARCHIVE = Path(sys.prefix) / "spark-classes.jsa"
"""Classes that Spark loads, found, read and verified once (``tests.crash.class_archive``). All works without it."""
# An archive of another Java or Spark is left alone, and not worth a warning.
_FLAGS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xlog:disable"
SHORT_LIVED = f"{_FLAGS} -XX:SharedArchiveFile={ARCHIVE}"
ARCHIVING = f"{_FLAGS} -XX:ArchiveClassesAtExit={ARCHIVE}"
