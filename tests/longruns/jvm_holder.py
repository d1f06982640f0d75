"""A process that holds a JVM with a Spark context, which driver processes share: one after the other connects to it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import skypane as sp


def main() -> None:
    # As many slots as elastic degrees and patterns can use: a driver cannot have them changed.
    spark = sp.embedded_session(cores=2, log_file=Path(sys.argv[1]), options={"spark.sql.shuffle.partitions": "2"})
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    port, secret = gateway.gateway_parameters.port, gateway.gateway_parameters.auth_token
    print(json.dumps({"port": port, "secret": secret}), flush=True)
    sys.stdin.read()
    spark.stop()


if __name__ == "__main__":
    main()
