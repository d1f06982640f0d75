"""A process with everything loaded that drivers need, from which they are forked: each is there in milliseconds.

A line of JSON on standard input asks for a driver. One on standard output has its process id; another, when it has
ended, its exit code: negative if a signal ended it. What a driver has to say goes to a file.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from skypane.kernels.warming import warm
from skypane.spark.sources import register_sources
from tests.crash.driver import carry_out


def main() -> None:
    warm()
    for line in sys.stdin:
        order = json.loads(line)
        process = os.fork()
        if process == 0:
            be_a_driver(order)
        print(json.dumps({"process": process}), flush=True)
        _, status = os.waitpid(process, 0)
        print(json.dumps({"code": os.waitstatus_to_exitcode(status)}), flush=True)


def be_a_driver(order: dict[str, Any]) -> None:
    """Carry out the orders; never returns."""
    code = 1
    try:
        errors = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.dup2(errors, 1)
        os.dup2(errors, 2)
        said = carry_out(session(order), order["orders"])
        Path(order["answer"]).write_text(json.dumps(said))
        code = 0
    except BaseException:  # noqa: BLE001 - this process is a copy: it must not go on as the one it is a copy of
        traceback.print_exc()
    finally:
        os._exit(code)


def session(order: dict[str, Any]) -> SparkSession:
    """The session of the JVM that is there, with nothing left in it of the driver that was killed before."""
    os.environ |= {"PYSPARK_GATEWAY_PORT": str(order["port"]), "PYSPARK_GATEWAY_SECRET": order["secret"]}
    gateway = launch_gateway()  # type: ignore[no-untyped-call]
    jvm: Any = gateway.jvm
    context = jvm.JavaSparkContext.fromSparkContext(jvm.org.apache.spark.SparkContext.getOrCreate())
    conf = SparkConf(_jconf=context.getConf())
    SparkContext._ensure_initialized(gateway=gateway, conf=conf)
    spark = SparkSession(SparkContext(gateway=gateway, jsc=context, conf=conf))
    for query in spark.streams.active:
        # With a real JVM of its own it would have died with the driver; so it must not call this one.
        query.stop()
    spark.sparkContext.cancelAllJobs()
    spark.conf.set("spark.sql.session.timeZone", order.get("zone", "UTC"))
    register_sources(spark)
    return spark


if __name__ == "__main__":
    main()
