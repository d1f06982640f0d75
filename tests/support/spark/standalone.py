"""A standalone Spark cluster on 127.0.0.1: a master and workers of one core each, ended whatever happens."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark

from tests.support.spark.jvm import SHORT_LIVED

WAIT_S = 180
_DEPLOY = "org.apache.spark.deploy"
_LOCAL = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")


@contextmanager
def standalone(folder: Path, workers: int = 2, memory: str = "1g") -> Iterator[str]:
    """The address of the master."""
    with ExitStack() as running:
        log = running.enter_context(_daemon("master", [f"{_DEPLOY}.master.Master", *_LOCAL], folder))
        address = _wait_for(log, r"Starting Spark master at (spark://127\.0\.0\.1:\d+)")
        logs = []
        for name in (f"worker-{number}" for number in range(1, workers + 1)):
            size = ["--cores", "1", "--memory", memory, "--work-dir", str(folder / name)]
            command = [f"{_DEPLOY}.worker.Worker", *_LOCAL, *size, address]
            logs.append(running.enter_context(_daemon(name, command, folder)))
        for log in logs:
            _wait_for(log, r"(Successfully registered with master)")
        yield address


@contextmanager
def _daemon(name: str, arguments: list[str], folder: Path) -> Iterator[Path]:
    """A Spark daemon; yields its log."""
    home = Path(pyspark.__file__).parent
    log = folder / f"{name}.log"
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_NO_DAEMONIZE": "1",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": SHORT_LIVED,
        "PYSPARK_PYTHON": sys.executable,
    }
    with log.open("wb") as out:
        process = subprocess.Popen(
            [str(home / "bin" / "spark-class"), *arguments],
            stdout=out,
            stderr=subprocess.STDOUT,
            env=environment,
            cwd=folder,
        )
    try:
        yield log
    finally:
        process.terminate()  # A worker ends its executors when it is asked to end.
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_for(log: Path, pattern: str) -> str:
    """The first match in a log."""
    deadline = time.monotonic() + WAIT_S
    while (match := re.search(pattern, log.read_text())) is None:
        assert time.monotonic() < deadline, log.read_text()[-3_000:]
        time.sleep(0.05)
    return match.group(1)
