"""TrafficSpec: the complete description of a stream, read from options."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from skypane.model.durations import format_duration_us
from skypane.model.errors import OptionError
from skypane.traffic import arrivals as arr
from skypane.traffic import disorder as dis
from skypane.traffic.arrivals.base import US_PER_S
from skypane.traffic.arrivals.trace import read_trace
from skypane.traffic.catalogue import OPTIONS
from skypane.traffic.options import parse_options
from skypane.traffic.points import ChangingPoints

DEFAULT_START_US = 1_767_225_600_000_000  # 2026-01-01T00:00:00Z
_AUTO_CAP = {"exponential": 20, "pareto": 100, "stalls": 100}


@dataclass(frozen=True)
class TrafficSpec:
    """Everything that determines a stream. Make it with ``from_options``, which checks ranges."""

    rate: float
    arrivals: str
    dispersion: float
    burst_share: float
    burst_factor: float
    hurst: float
    sessions: float
    walk_sigma: float
    walk_every: int
    walk_span: float
    steps: tuple[tuple[int, float], ...]
    trace: str
    speedup: float
    points: tuple[str, ...]
    points_every: int
    attributes: int
    disorder: str
    mean_delay: int
    max_delay: int
    tail: float
    stalled_share: float
    keys: int
    key_skew: float
    seed: int
    duration: int
    records: int
    partitions: int
    start: int | None
    paced: bool
    max_records_per_batch: int

    @classmethod
    def from_options(cls, options: Mapping[str, object] | None = None, **more: object) -> TrafficSpec:
        """From texts by name, as they come from a command line, a file or Spark; see the catalogue."""
        spec = cls(**parse_options(OPTIONS, {**(options or {}), **more}))
        spec._check()
        return spec

    def _check(self) -> None:
        """Combinations that make no sense."""
        if self.arrivals == "map" and self.burst_factor * self.burst_share >= 1.0:
            raise OptionError(
                f"option burst_factor={self.burst_factor:g}: must be below 1 / burst_share = "
                f"{1 / self.burst_share:g}; lower one of them"
            )
        if self.arrivals == "steps" and not (self.steps and max(rate for _, rate in self.steps) > 0):
            raise OptionError("option steps: arrivals=steps needs at least one 'second:rate' with a rate above 0")
        if self.arrivals == "steps" and self.steps[-1][1] == 0 and not self.duration:
            raise OptionError("option steps: a last rate of 0 needs a duration, or the stream would wait for ever")
        if self.arrivals == "trace":
            if not self.trace:
                raise OptionError("option trace: arrivals=trace needs the name of a file of 'second count' lines")
            read_trace(self.trace)  # so that a bad file is an error here and not in a task
        if self.max_delay and self.disorder in _AUTO_CAP and self.max_delay < 2 * self.mean_delay:
            raise OptionError(
                f"option max_delay='{format_duration_us(self.max_delay)}': must be at least twice mean_delay = "
                f"{format_duration_us(self.mean_delay)}, or 0"
            )
        if self.paced and self.start is not None and self.start < 0:
            raise OptionError("option start: must not be before 1970")

    def arrivals_of_partition(self) -> arr.Arrivals:
        """The arrival process of each partition: the partitions together have the rate of the stream."""
        rate = self.rate / self.partitions
        if self.arrivals == "map":
            return arr.MarkovArrivals.fit(rate, self.dispersion, self.burst_share, self.burst_factor)
        if self.arrivals == "selfsimilar":
            # Fewer sessions per partition keep the strength of the bursts of the whole.
            sessions = self.sessions / self.partitions
            return arr.SelfSimilarArrivals(rate, self.hurst, sessions, self.horizon_us, self.partitions)
        if self.arrivals == "walk":
            return arr.RandomWalkArrivals(rate, self.walk_sigma, self.walk_every, self.walk_span, self.horizon_us)
        if self.arrivals == "steps":
            starts, rates = zip(*self.steps, strict=True)
            return arr.SteppedArrivals(starts, tuple(step / self.partitions for step in rates))
        if self.arrivals == "trace":
            return arr.TraceArrivals(self.trace, self.speedup, self.partitions)
        return arr.PoissonArrivals(rate)

    def disorder_of_records(self) -> dis.Disorder:
        """The delays of the records."""
        cap = self.max_delay or _AUTO_CAP.get(self.disorder, 0) * self.mean_delay
        if self.disorder == "uniform":
            return dis.UniformDelay(self.mean_delay, 2 * self.mean_delay)
        if self.disorder == "exponential":
            return dis.ExponentialDelay(self.mean_delay, cap)
        if self.disorder == "pareto":
            return dis.HeavyTailDelay(self.mean_delay, cap, self.tail)
        if self.disorder == "stalls":
            return dis.StallDelay(self.mean_delay, cap, self.stalled_share)
        return dis.NoDisorder(0, 0)

    def points_of_records(self) -> ChangingPoints:
        """The attributes of the records."""
        return ChangingPoints(self.points, self.points_every)

    @property
    def horizon_us(self) -> int:
        """When a stream that has an end has about reached it; 0 for one that has none."""
        return self.duration or round(self.records / self.rate * US_PER_S)

    @property
    def duration_us(self) -> int | None:
        """Event time that the stream covers; a trace is played once unless something else is asked."""
        if self.duration:
            return self.duration
        process = self.arrivals_of_partition()
        if isinstance(process, arr.TraceArrivals) and not self.records and not self.paced:
            return process.duration_us
        return None

    @property
    def bounded(self) -> bool:
        """Whether the stream has an end."""
        return bool(self.records) or self.duration_us is not None

    def as_dict(self) -> dict[str, Any]:
        """The parsed values by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def fingerprint(self) -> str:
        """Names the stream: equal for two descriptions that give the same records."""
        reading = ("records", "duration", "paced", "start", "max_records_per_batch", "trace")
        content = {name: value for name, value in self.as_dict().items() if name not in reading}
        if self.arrivals in ("selfsimilar", "walk"):  # they have the asked rate up to their end
            content["horizon"] = self.horizon_us
        trace = read_trace(self.trace).counts.tolist() if self.arrivals == "trace" else []
        return f"{zlib.crc32(repr((sorted(content.items()), trace)).encode()):08x}"
