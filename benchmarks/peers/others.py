"""The peers that are not on Spark: an environment for each, its program as a process, what it says."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyspark

from benchmarks.peers import kafka
from benchmarks.peers.jobs import CannotError
from benchmarks.peers.programs.plain import SECONDS

ROOT: Final = Path(__file__).parents[2]
BUILD: Final = ROOT / "build" / "peers"
INSTALL_S, RUN_S = 600, 240
"""How long they may take."""


@dataclass(frozen=True)
class Peer:
    """A package of the index, with what its program imports besides."""

    name: str
    program: str
    packages: tuple[str, ...]
    columns: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Of its answers, by job, if it writes no header."""

    variables: tuple[tuple[str, str], ...] = ()
    """Of its environment."""
    short_only: bool = False
    """For one that would take all day for more."""

    def seconds(self, python: Path, job: str, data: Path, out: Path) -> float:
        """Run the program to its end; how long it says that took."""
        return program_seconds(self.program, python, (job, str(data), str(out)), self.environment())

    def environment(self) -> dict[str, str]:
        """What its process finds in the environment."""
        return {**os.environ, "PYTHONPATH": str(ROOT), **dict(self.variables)}

    def python(self) -> Path:
        """The interpreter of its environment, which is made if need be."""
        folder = BUILD / self.program
        python, done = folder / "bin" / "python", folder / "installed"
        wanted = "\n".join(self.packages)
        if not (done.exists() and done.read_text() == wanted):
            shutil.rmtree(folder, ignore_errors=True)
            _run([sys.executable, "-m", "venv", *(["--without-pip"] if _uv() else []), str(folder)], INSTALL_S)
            _run([*_installer(python), "-q", *self.packages], INSTALL_S)
            self.complete(folder)
            done.write_text(wanted)
        return python

    def complete(self, folder: Path) -> None:
        """What the index does not have."""


class Flink(Peer):
    """Its Parquet format is a jar that the package leaves out; it needs Hadoop's, which Spark brings."""

    def complete(self, folder: Path) -> None:
        """Fetch the jar, with Maven."""
        if shutil.which("mvn") is None:
            raise CannotError("its Parquet format is not in the package, and there is no Maven to fetch it with")
        (version,) = (name.split("==")[1] for name in self.packages if name.startswith("apache-flink=="))
        jar = f"-Dartifact=org.apache.flink:flink-sql-parquet:{version}"
        _run(["mvn", "-q", "-B", "dependency:copy", jar, f"-DoutputDirectory={folder / 'jars'}"], INSTALL_S)

    def environment(self) -> dict[str, str]:
        """With the jars."""
        spark = Path(pyspark.__file__).parent / "jars"
        jars = [*(BUILD / self.program / "jars").glob("*.jar"), *spark.glob("hadoop-client-*.jar")]
        return {**super().environment(), "FLINK_JARS": ";".join(path.as_uri() for path in jars)}


class Quix(Peer):
    """It reads from Kafka and nothing else: a broker of its own, while it runs."""

    def complete(self, folder: Path) -> None:
        """Fetch the broker, with Maven."""
        if shutil.which("mvn") is None:
            raise CannotError("it needs a Kafka broker, which is not in the index, and there is no Maven to fetch it")
        _run(kafka.fetch_command(folder), INSTALL_S)

    def seconds(self, python: Path, job: str, data: Path, out: Path) -> float:
        """With the broker."""
        with kafka.broker(BUILD / self.program / "jars") as address:
            environment = {**self.environment(), "KAFKA": address}
            return program_seconds(self.program, python, (job, str(data), str(out)), environment)


def program_seconds(program: str, python: Path, arguments: tuple[str, ...], environment: dict[str, str]) -> float:
    """What a program says of itself, once it has ended."""
    said = _run([str(python), "-m", f"benchmarks.peers.programs.{program}", *arguments], RUN_S, environment)
    for line in said.splitlines():
        if line.startswith(SECONDS):
            return float(json.loads(line.removeprefix(SECONDS)))
    raise CannotError(f"its program ended without a word: {said[-200:]}")


def _uv() -> str | None:
    return shutil.which("uv", path=str(Path(sys.executable).parent)) or shutil.which("uv")


def _installer(python: Path) -> list[str]:
    uv = _uv()
    return [uv, "pip", "install", "--python", str(python)] if uv else [str(python), "-m", "pip", "install"]


def _run(command: list[str], timeout_s: float, environment: dict[str, str] | None = None) -> str:
    """What it prints; if it fails, the reason."""
    try:
        ran = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=timeout_s, check=False
        )
    except subprocess.TimeoutExpired:
        raise CannotError(f"not done after {timeout_s:.0f} s") from None
    if ran.returncode:
        raise CannotError(reason(ran.stderr or ran.stdout) or f"exit code {ran.returncode}")
    return ran.stdout


def reason(said: str) -> str:
    """What a failed process says last: of Java's page, the innermost cause."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    causes = [line for line in lines if line.startswith("Caused by:")]
    return (causes or lines or [""])[-1]


PEERS: Final = (
    Flink(
        "PyFlink",
        "flink_job",
        ("apache-flink==2.3.0", "setuptools<81"),
        (("yahoo", ("campaign", "start", "views", "last")), ("skyline", ("start", "numbers"))),
    ),
    Peer("Bytewax", "bytewax_job", ("bytewax==0.21.1", "numpy", "pyarrow")),
    Peer("Pathway", "pathway_job", ("pathway==0.33.0",), variables=(("PATHWAY_THREADS", "2"),)),
    Quix("Quix Streams", "quix_job", ("quixstreams==3.28.1", "numpy", "pyarrow"), short_only=True),
)
