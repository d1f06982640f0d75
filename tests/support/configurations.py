"""Configurations: continuous queries with everything that can be chosen about them, by a seed and as plain JSON."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import skypane as sp
from skypane.api.by_name import POLICIES, as_policy
from skypane.api.continuous_query import ContinuousQuery
from skypane.api.options.declarations import options_of
from skypane.api.options.parallel_options import parallel_arguments
from skypane.api.options.run_options import RunOptions
from skypane.flow.plan import OWNERSHIPS, PARTITIONINGS, WINDOW_SCHEDULINGS
from skypane.flow.windows.emit.names import EMISSIONS
from skypane.flow.windows.slide.choice import SLIDES
from skypane.model.errors import OptionError
from skypane.tuning.elastic.elastic import CONTROLLERS
from skypane.tuning.splitting.pane_strategies import SPLITTINGS
from tests.support import functions as samples
from tests.support.patterns import TREES

QUERIES: Mapping[str, dict[str, Any]] = {
    "skyline": {"minimize": "a", "maximize": "b"},
    "top_delta": {"delta": 2, "minimize": "a", "maximize": "b"},
    "top_k": {"k": 2, "score": "a"},
    "aggregate": {"records": "count", "low": "min(a)", "high": "max(b)", "total": "sum(n)"},
    "apply": {"function": samples.picky, "schema": "first long, last long, rows long, starts long"},
    "fold": {"init": sp.Fold(**samples.DIGEST, merge=samples.digest_merge)},
}
"""``apply`` fails for some windows: they are set aside."""
_POLICIES: Mapping[str, dict[str, Any]] = {
    "kslack": {"max_slack": "300 milliseconds"},
    "fixed_delay": {"delay": "300 milliseconds"},
    "drop_ratio": {"target": 0.1, "initial_slack": "200 milliseconds"},
    "harm": {"target": 0.05, "initial_slack": "200 milliseconds"},
}
_ADAPTIVE: Mapping[str, tuple[Any, ...]] = {
    "initial_slack": ("0 seconds", "100 milliseconds"),
    "max_slack": ("auto", "500 milliseconds", None),
}
_POLICY_SETTINGS: Mapping[str, Mapping[str, tuple[Any, ...]]] = {
    "kslack": {**_ADAPTIVE, "memory": (None, "2 seconds")},
    "fixed_delay": {"delay": ("0 seconds", "1 second")},
    "drop_ratio": {**_ADAPTIVE, "target": (0.01, 0.3)},
    "harm": {**_ADAPTIVE, "target": (0.01, 0.3)},
}
WINDOWS = (
    ("1 second", None),
    ("1 second", "500 milliseconds"),
    ("1 second", "250 milliseconds"),
    ("500 milliseconds", "1 second"),
    ("1500 milliseconds", "1 second"),
    ("8 seconds", "500 milliseconds"),
)
ROW_WINDOWS = ((4, None, None), (9, 2, "1 second"), (2, 5, None), (20, 1, None))
"""Records of a window, records from one to the next, the time to live of a key."""
LIVE: tuple[str, None] = ("live 2 seconds", None)
"""Instead of windows: every instant."""
assert POLICIES.keys() == _POLICIES.keys() == _POLICY_SETTINGS.keys()


@dataclass(frozen=True)
class Configuration:
    """One query and how it is run."""

    query: str
    window: tuple[str | int | None, ...]
    """Size and slide; or of windows of records, from :data:`ROW_WINDOWS`."""
    keys: tuple[str, ...]
    policy: str
    emit: str
    lateness: dict[str, Any] = field(default_factory=dict)
    """With those of the guard and of partitions, by their names alone."""
    parallel: dict[str, Any] = field(default_factory=dict)
    """With those of tuning, by their names alone."""
    partition: str | None = None
    outputs: tuple[str, ...] = ("late", "quarantine")
    policy_settings: dict[str, Any] = field(default_factory=dict)
    distinct: dict[str, Any] = field(default_factory=dict)
    """The id of a record, if duplicates are found, and within which span."""

    def __post_init__(self) -> None:
        taken = {"lateness": ("lateness", "lateness.guard", "partition"), "parallel": ("parallel", "parallel.tuning")}
        for name, sections in taken.items():
            known = {option.name for section in sections for option in options_of(section)}
            assert set(getattr(self, name)) <= known, name

    def build(self, df: Any) -> ContinuousQuery:
        """The query; the records may be anything until it is started."""
        partition = None if self.partition is None else sp.Partition(self.partition, **_of("partition", self.lateness))
        stream: Any = sp.stream(df, time="ts", key=list(self.keys) or None, partition=partition, **self.distinct)
        if len(self.window) == 3:
            windowed = stream.window_rows(*self.window[:2], ttl=self.window[2])
        elif self.window == LIVE:
            windowed = stream.live(LIVE[0].removeprefix("live "))
        else:
            windowed = stream.window(*self.window)
        asked: ContinuousQuery = getattr(windowed, self.query)(**QUERIES[self.query])
        policy = as_policy(self.policy, **{**_POLICIES[self.policy], **self.policy_settings})
        guard = sp.TimeGuard(**_of("lateness.guard", self.lateness))
        tuning = sp.Tuning(**_of("parallel.tuning", self.parallel))
        asked = asked.lateness(policy, guard=guard, **_of("lateness", self.lateness)).emit(self.emit)
        return asked.parallel(**parallel_arguments(_of("parallel", self.parallel)), tuning=tuning)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, body: dict[str, Any]) -> Configuration:
        tuples = {name: tuple(body[name]) for name in ("window", "keys", "outputs")}
        return cls(**{**body, **tuples})


def _of(section: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Those of one section."""
    return {option.name: settings[option.name] for option in options_of(section) if option.name in settings}


def random_configuration(rng: random.Random, **wanted: Any) -> Configuration:
    """Any that can be had; ``wanted`` says what must not be left to chance."""
    while True:
        configuration = _any(rng, wanted)
        try:
            sinks: dict[str, Any] = dict.fromkeys(configuration.outputs, sp.ConsoleSink())
            configuration.build(None).plan(RunOptions(sp.ConsoleSink(), **sinks), slots=2)
        except OptionError:
            continue
        return configuration


def _elastic(rng: random.Random) -> dict[str, Any]:
    """Degrees that change with every step, or nearly."""
    return {
        "elastic": True,
        "min_degree": rng.choice([1, 1, 2]),
        "max_degree": rng.choice([None, 3, 5]),
        "controller": rng.choice(list(CONTROLLERS)),
        "period": rng.choice(["1 second", "2 seconds"]),
        "dwell": rng.choice([1, 2]),
    }


def _any(rng: random.Random, wanted: Mapping[str, Any]) -> Configuration:
    partition = "zone" if rng.random() < 0.25 else None
    lateness: dict[str, Any] = {
        "support": rng.choice([2, 5]),
        "max_future": rng.choice(["auto", "auto", "auto", "30 seconds", None]),
        "clock_tolerance": rng.choice(["1 second", "0 seconds", "400000 days"]),
        "harm_horizon": rng.choice(["auto", "auto", "0 seconds", "1 second", None]),
    }
    if rng.random() < 0.5:
        lateness["allowed"] = rng.choice(["500 milliseconds", "5 seconds"])
    if partition:
        lateness |= {
            "across": rng.choice(["min", "max"]),
            "max_lag": rng.choice([None, "1 second"]),
            "timeout": rng.choice(["30 seconds", "1 second"]),
        }
    policy = rng.choice(list(_POLICIES))
    settings = {name: rng.choice(values) for name, values in _POLICY_SETTINGS[policy].items() if rng.random() < 0.3}
    parallel = {
        "splitting": rng.choice(["combine", "combine", *SPLITTINGS]),
        "elastic": False,
        "pane_degree": rng.choice([None, 1, 3]),
        "degree": rng.choice([1, 1, 2, 3]),
        "window_scheduling": rng.choice(["ranges", *WINDOW_SCHEDULINGS]),
        "inline_rows": rng.choice([0, 100_000]),
        "sliding": rng.choice(["auto", "auto", *SLIDES]),
        "processing": rng.choice(["out_of_order", "out_of_order", "in_order"]),
        "partitioning": rng.choice(PARTITIONINGS),
        "cut_rows": rng.choice([0, 0, 1_000_000]),
    }
    if rng.random() < 0.3:
        parallel |= {"degree": None, "pane_degree": None, **_elastic(rng)}
    if rng.random() < 0.2:
        kept = ("sliding", "processing", "partitioning")
        parallel = {"pattern": rng.choice(TREES), **{name: parallel[name] for name in kept}}
    else:
        parallel["pattern"] = "auto"
    parallel["max_latency"] = rng.choice([None, None, "1 second"])
    chosen: dict[str, Any] = {
        "query": rng.choice(list(QUERIES)),
        "window": rng.choice(ROW_WINDOWS if rng.random() < 0.3 else (*WINDOWS, LIVE)),
        "keys": rng.choice([(), ("city",), ("city", "zone")]),
        "policy": policy,
        "policy_settings": settings,
        "emit": rng.choice([name for name, kind in EMISSIONS.items() if not kind.instants]),
        "lateness": lateness,
        "parallel": parallel,
        "partition": partition,
        "outputs": tuple(name for name in ("late", "quarantine") if rng.random() < 0.6),
    }
    chosen |= wanted
    if chosen["window"] == LIVE:
        # Most of what can be chosen is about windows: by chance they would seldom come together.
        chosen |= {"query": rng.choice(["skyline", "top_k"]), "emit": rng.choice(["updates", "intervals"]), **wanted}
        lateness.pop("allowed", None)
        parallel |= {"sliding": "auto", "processing": "out_of_order"}
    # By what was chosen so far: one more draw would make other worlds of all seeds.
    parallel["ownership"] = random.Random(repr(chosen)).choice(OWNERSHIPS)
    if chosen["query"] == "apply" and "failed" not in chosen["outputs"]:
        chosen["outputs"] = (*chosen["outputs"], "failed")
    return Configuration(**_distinct(chosen))


def _distinct(chosen: dict[str, Any]) -> dict[str, Any]:
    """Where no strategy decides which task gets a record, often with duplicates; nor does this draw from the seed."""
    rng, parallel = random.Random(f"distinct {chosen!r}"), chosen["parallel"]
    routes = parallel["pattern"] != "auto" or parallel.get("splitting", "combine") != "combine"
    if "distinct" in chosen or routes or rng.random() < 0.3:
        return chosen
    columns = rng.choice([["zone"], ["city", "zone"], ["a"], ["b", "city"]])
    distinct = {"distinct_by": columns, "within": rng.choice(["0 seconds", "500 milliseconds", "3 seconds"])}
    outputs = (*chosen["outputs"], *(["duplicates"] if rng.random() < 0.8 else []))
    return {**chosen, "distinct": distinct, "outputs": outputs}
