"""Makes the archive of Spark's classes: with it, a session starts in two thirds of the processor time."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.crash import selection
from tests.crash.chains import PLAIN_CUTS, world_in
from tests.support.spark.jvm import ARCHIVE, ARCHIVING


def main() -> None:
    """Have a process run queries with jobs, and with sinks of several kinds; its JVM writes down what it loaded."""
    ARCHIVE.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as folder, world_in(Path(folder)) as world:
        driver = world.launcher.spawn(ARCHIVING)
        for chain in (selection.TOP_DELTA, selection.APPLY):
            world.undisturbed(chain, PLAIN_CUTS[:3], driver, {"inline_rows": 0})
        driver.dismiss()
    assert ARCHIVE.exists(), "the JVM wrote no archive"


if __name__ == "__main__":
    main()
