"""Streams by a seed: records in files, a query with anything that can be chosen about it, and where its rows go."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import skypane as sp
from skypane.api.options.run_options import RunOptions
from skypane.flow.definition import Definition
from skypane.model.errors import OptionError
from tests.crash.chains import SINK_KINDS, Cuts
from tests.support.configurations import LIVE, ROW_WINDOWS, Configuration, random_configuration
from tests.support.records import SCHEMA
from tests.support.spark.streams import random_batches, write_batches

_LARGE = 310_000
"""Records of a batch that Spark pre-aggregates."""


@dataclass(frozen=True)
class Stream:
    """A query over files, each of which is a batch, unless a crash has Spark take two at once."""

    seed: int
    configuration: Configuration
    sinks: Mapping[str, str]
    """Kinds of sinks, by output."""
    files: int
    calm: int = 0
    """Steps before the first kill: then there is much in the sinks."""
    large: bool = False

    @cached_property
    def batches(self) -> list[pa.Table]:
        """The records of each file."""
        if self.large:
            return [_large_batch(self.seed, number) for number in range(self.files)]
        return random_batches(self.seed, batches=self.files, rows=12 if self.calm else 40)

    @property
    def records(self) -> int:
        """How many there are."""
        return sum(batch.num_rows for batch in self.batches)

    def source(self, folder: Path, cuts: Cuts) -> str:
        """A folder with a file for each batch of these; the last file of each is given."""
        place = folder / "-".join(["in", *map(str, cuts)])[:200]
        if not place.exists():
            starts = [0, *(cut + 1 for cut in cuts[:-1])]
            spans = zip(starts, cuts, strict=True)
            write_batches(place, [pa.concat_tables(self.batches[start : cut + 1]) for start, cut in spans])
        return str(place)

    @property
    def definition(self) -> Definition:
        """What the query is, for the oracle."""
        outputs: dict[str, Any] = {name: sp.ConsoleSink() for name in self.sinks if name != "results"}
        return self.configuration.build(None).plan(RunOptions(sp.ConsoleSink(), **outputs), slots=2)[0]

    @property
    def has_oracle(self) -> bool:
        """Whether brute force can say what the sinks must have: windows of time, each answered once, all kept."""
        c = self.configuration
        ordinary = c.window not in {LIVE, *ROW_WINDOWS} and c.emit == "full" and "allowed" not in c.lateness
        kept = all(self.sinks.get(name) == "parquet" for name in ("results", "late", "quarantine"))
        return ordinary and kept and c.query != "apply" and not self.large

    @property
    def may_be_idle(self) -> bool:
        """Whether a pause decides only when windows are closed, and not what is emitted of them."""
        return self.configuration.window not in {LIVE, *ROW_WINDOWS}

    def other_work(self, rng: random.Random) -> dict[str, Any]:
        """Another way to do the same work, as far as the options allow one."""
        changes = {"inline_rows": rng.choice([0, 0, 100_000]), "degree": rng.randint(1, 4)}
        for other in (changes, {"inline_rows": changes["inline_rows"]}):
            changed = replace(self.configuration, parallel={**self.configuration.parallel, **other})
            try:
                changed.build(None).plan(RunOptions(sp.ConsoleSink()), slots=2)
            except OptionError:
                continue
            return other
        return {}


def stream_of(seed: int) -> Stream:
    """The stream of a seed. What is seldom drawn, or seldom fits the rest, has its turn with the last digit."""
    rng = random.Random(f"stream {seed}")
    large = seed % 10 == 9
    found = _pre_aggregated(rng) if large else _any(rng, seed % 10)
    # How long processes were away must not decide an answer.
    lateness = {**found.lateness, "timeout": "1000 days"}
    configuration = replace(found, lateness=lateness)
    kinds = ["parquet"] * 3 if rng.random() < 0.4 else rng.choices(SINK_KINDS, k=3)
    sinks = {"results": kinds[0]}
    if not large:
        sinks |= {"late": kinds[1], "quarantine": kinds[2]}
        sinks |= {"failed": "parquet"} if configuration.query == "apply" else {}
    calm = 40 if seed % 10 == 4 else 0
    files = 4 if large else 56 if calm else rng.choice([8, 14, 20])
    return Stream(seed, configuration, sinks, files, calm, large)


def _any(rng: random.Random, turn: int) -> Configuration:
    wanted: dict[int, dict[str, Any]] = {
        2: {"window": rng.choice(ROW_WINDOWS)},
        6: {"query": "fold"},
        7: {"window": LIVE},
        8: {"query": "apply"},
    }
    while True:
        found = random_configuration(rng, **wanted.get(turn, {}))
        if turn != 5 or found.parallel["pattern"] != "auto":
            return found


def _pre_aggregated(rng: random.Random) -> Configuration:
    """A query that Spark can pre-aggregate, and with large batches will."""
    while True:
        window = rng.choice([("1 second", None), ("8 seconds", "500 milliseconds")])
        # Of whole numbers: those that Spark adds up as we do.
        whole = {"low": "min(zone)"}
        found = random_configuration(rng, query="aggregate", arguments=whole, window=window, partition=None, outputs=())
        parallel = {"pattern": "auto", "splitting": "combine", "processing": "out_of_order", "elastic": False}
        if parallel.items() <= found.parallel.items() and found.lateness["max_future"] == "auto":
            return found


def _large_batch(seed: int, number: int) -> pa.Table:
    rng = np.random.default_rng([seed, number])
    late = np.where(rng.random(_LARGE) < 0.01, rng.integers(0, 3_000_000, _LARGE), 0)
    times = number * 8_000_000 + np.sort(rng.integers(0, 8_000_000, _LARGE)) - late
    made = {
        "n": np.arange(_LARGE) + number * _LARGE,
        "ts": times.astype("datetime64[us]"),
        "city": np.array(["ulm", "bonn", "köln"])[rng.integers(0, 3, _LARGE)],
        "zone": rng.integers(0, 3, _LARGE).astype(np.int32),
        "a": rng.integers(0, 1_000, _LARGE).astype(float),
        "b": rng.integers(0, 1_000_000, _LARGE),
    }
    return pa.table(made).select(SCHEMA.names).cast(SCHEMA)
