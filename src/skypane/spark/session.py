"""Embedded Spark: a session that starts by itself, keeps quiet, and logs to a file."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from skypane.model.errors import DependencyError, OptionError, SkypaneError
from skypane.notices import start_of_spark, waiting_for
from skypane.spark.sources import register_sources

_LOG4J = """
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = {log}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{{yy/MM/dd HH:mm:ss}} %p %c{{1}}: %m%n%ex
"""
_WANTED_JAVA = 17
_JAVA_HOW = (
    "Install it (Debian, Ubuntu: apt-get install openjdk-17-jre-headless; macOS: brew install openjdk@17) or set "
    "JAVA_HOME."
)
_TASK_ATTEMPTS = 4
"""As ``spark.task.maxFailures`` has it by default; a ``local`` master takes it from its own name only."""


def embedded_session(
    name: str = "skypane",
    *,
    cores: int | str = "*",
    log_file: str | os.PathLike[str] | None = None,
    options: Mapping[str, str] | None = None,
) -> SparkSession:
    """A session in this process, with ``cores`` tasks at a time; Spark and the JVM write to ``log_file``.

    A task that fails is repeated as on a cluster: on a busy machine a worker may not start in time.
    """
    _check_arguments(name, cores, options)
    check_java()
    # Workers must run the same Python with the same packages as this process.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    folder = Path(tempfile.mkdtemp(prefix="skypane-"))
    if log_file is not None:  # else the log, which somebody may want to read, is in it
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
    log = Path(log_file or folder / "spark.log").absolute()
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OptionError(f"log_file={str(log)!r} cannot be made: {error.strerror}. Give another place.") from error
    log4j = folder / "log4j2.properties"
    log4j.write_text(_LOG4J.format(log=log))
    builder = SparkSession.builder.master(f"local[{cores},{_TASK_ATTEMPTS}]").appName(name)
    for key, value in {**_settings(folder, log4j), **(options or {})}.items():
        builder = builder.config(key, value)
    try:
        with waiting_for(start_of_spark(log)), _stderr_to(log):
            session = builder.getOrCreate()
    except PySparkRuntimeError as error:
        if error.getCondition() != "JAVA_GATEWAY_EXITED":
            raise
        raise SkypaneError(f"Spark's Java process ended before it was ready. Its log, {log}, says why.") from error
    register_sources(session)
    return session


def _check_arguments(name: object, cores: object, options: object) -> None:
    if not isinstance(name, str):
        hint = f" For so many tasks at a time write cores={name!r}." if isinstance(name, int) else ""
        raise OptionError(f"embedded_session({name!r}): the first argument is the name of the application, text.{hint}")
    whole = isinstance(cores, int) and not isinstance(cores, bool) and cores > 0
    if not whole and cores != "*" and not (isinstance(cores, str) and cores.isdecimal() and int(cores)):
        raise OptionError(f"cores={cores!r} must be a whole number from 1, or '*' for all of this machine.")
    if options is not None and not isinstance(options, Mapping):
        raise OptionError(
            f"options={options!r} must be a dict of Spark's settings, such as {{'spark.driver.memory': '4g'}}."
        )


def _settings(folder: Path, log4j: Path) -> dict[str, str]:
    return {
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={log4j.as_uri()} -Duser.timezone=UTC",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(os.cpu_count() or 1),
        # Large Arrow batches: the kernels work on whole columns.
        "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
        # Over TCP, Spark and its Python workers wait for each other's delayed acknowledgements: 40 ms in every job.
        "spark.python.unix.domain.socket.enabled": str(hasattr(socket, "AF_UNIX")).lower(),
        "spark.local.dir": str(folder),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }


def check_java() -> None:
    """Raise an error that says what to do, unless Java 17 or newer is there."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which(str(Path(home) / "bin" / "java")) if home else shutil.which("java")
    if java is None:
        where = f"JAVA_HOME={home} has no bin/java" if home else "there is none in the path"
        raise DependencyError(f"Spark needs Java {_WANTED_JAVA} or newer, and {where}. {_JAVA_HOW}")
    done = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)  # noqa: S603
    match = re.search(r'version "(?:1\.)?(\d+)', done.stderr)
    if match and int(match.group(1)) < _WANTED_JAVA:
        raise DependencyError(f"Spark needs Java {_WANTED_JAVA} or newer; {java} is version {match[1]}. {_JAVA_HOW}")
    said = (done.stderr or done.stdout).strip().splitlines()
    # On macOS the java in the path may only say where to get one. One that was killed says nothing, and proves nothing.
    if done.returncode and said and not match:
        raise DependencyError(
            f"Spark needs Java {_WANTED_JAVA} or newer, and {java} does not run: {said[0].rstrip('.')}. {_JAVA_HOW}"
        )


@contextmanager
def _stderr_to(log: Path) -> Iterator[None]:
    """While the JVM starts, point stderr to the log: the JVM inherits it for good, this process gets its own back."""
    sys.stderr.flush()
    kept = os.dup(2)
    target = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.dup2(target, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(target)


def is_embedded(spark: SparkSession) -> bool:
    """Whether tasks run in this machine, on the driver's own cores."""
    return str(spark.sparkContext.master).startswith("local")
