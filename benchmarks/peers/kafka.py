"""A Kafka broker on this machine, for peers that cannot do without: jars fetched with Maven, one process."""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

VERSION = "3.9.1"
POM = f"""<project><modelVersion>4.0.0</modelVersion>
<groupId>peers</groupId><artifactId>kafka</artifactId><version>1</version>
<dependencies><dependency>
<groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>{VERSION}</version>
</dependency></dependencies></project>
"""
SETTINGS = """process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{broker},CONTROLLER://127.0.0.1:{controller}
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
log.dirs={folder}/log
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
"""
CLUSTER = "c2t5cGFuZS1iZW5jaC1rYQ"
START_S = 60


def fetch_command(folder: Path) -> list[str]:
    """Copies the broker and all that it needs to ``folder/jars``."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pom.xml").write_text(POM)
    jars = f"-DoutputDirectory={folder / 'jars'}"
    return ["mvn", "-q", "-B", "-f", str(folder / "pom.xml"), "dependency:copy-dependencies", jars]


@contextlib.contextmanager
def broker(jars: Path) -> Iterator[str]:
    """Its address, while it runs."""
    folder = Path(tempfile.mkdtemp(prefix="skypane-bench-kafka-"))
    ports = free_port(), free_port()
    settings = folder / "server.properties"
    settings.write_text(SETTINGS.format(broker=ports[0], controller=ports[1], folder=folder))
    java = ["java", "-Xmx1g", "-cp", str(jars / "*")]
    log = (folder / "out").open("w")
    subprocess.run(
        [*java, "kafka.tools.StorageTool", "format", "-t", CLUSTER, "-c", str(settings)],
        stdout=log,
        stderr=log,
        check=True,
    )
    server = subprocess.Popen([*java, "kafka.Kafka", str(settings)], stdout=log, stderr=log)
    try:
        wait_for(ports[0])
        yield f"127.0.0.1:{ports[0]}"
    finally:
        server.terminate()
        server.wait(START_S)
        log.close()
        shutil.rmtree(folder, ignore_errors=True)


def free_port() -> int:
    """A port that no process listens to."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])


def wait_for(port: int) -> None:
    """Wait until a process listens."""
    deadline = time.monotonic() + START_S
    while not listens(port):
        if time.monotonic() > deadline:
            raise TimeoutError(f"no broker after {START_S} s")
        time.sleep(0.2)


def listens(port: int) -> bool:
    """Whether a process listens."""
    with socket.socket() as asked:
        return asked.connect_ex(("127.0.0.1", port)) == 0
