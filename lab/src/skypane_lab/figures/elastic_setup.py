"""What the figures of paper 2's elasticity have in common: its machine, its streams, its loops, what it measures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from skypane.model.windows import WindowSpec
from skypane.tuning.elastic.controllers import MAX_WORKERS, Fuzzy
from skypane.tuning.elastic.damping import Damped
from skypane.tuning.elastic.loops import Loops
from skypane_lab.cost_model import CostModel, paper_machine
from skypane_lab.elastic_run import Elastic, ElasticRun
from skypane_lab.figures.merges import SLOWER
from skypane_lab.scenario import Scenario

MERGES_SLOWER: Final = 2.5
"""Of window tasks: with it Game1 and the stream with I = 1,000 need about as many window workers as in table 4."""
PERIOD_US: Final = 2_500_000.0
SAMPLING_US: Final = 250_000.0


def machine(factor: float = 1.0) -> CostModel:
    """Paper 2's machine; ``factor`` for a query that costs more."""
    merge_us = paper_machine().scaled(factor * MERGES_SLOWER).merge_us
    return replace(paper_machine().scaled(factor * SLOWER), name="paper 2's machine", merge_us=merge_us)


def as_in_the_paper(
    limit: int = MAX_WORKERS, period_us: float = PERIOD_US, sampling_us: float = SAMPLING_US
) -> Elastic:
    """The rules alone, without damping."""
    undamped = Damped(Fuzzy(limit), dwell_periods=1, tolerated_lag_us=math.inf, dead_band=0.0)
    return Elastic(Loops(undamped, period_us, sampling_us))


def stream(rate: float, arrivals: str, duration_s: float, mean_delay_ms: int = 200, **options: float | str) -> Scenario:
    """Windows of 1 s that slide by 200 ms; the first 40 s, in which degrees rise from 1, are warm-up."""
    given = (("arrivals", arrivals), *((name, str(value)) for name, value in options.items()))
    return Scenario(
        rate=rate,
        window=WindowSpec(1_000_000, 200_000),
        mean_delay_us=mean_delay_ms * 1_000,
        duration_s=duration_s,
        warm_up_s=40.0,
        cost=machine(),
        stream=given,
    )


def game(rate: float, peak_to_mean: float, mean_delay_ms: int = 17, duration_s: float = 240.0) -> Scenario:
    """Like a recorded game: the rate goes up and down slowly. The recordings are not ours to ship."""
    sigma = 0.5 * math.log(peak_to_mean)
    return stream(rate, "walk", duration_s, mean_delay_ms, walk_sigma=sigma, walk_span=peak_to_mean)


GAME_1: Final = (16_923.0, 1.44)
"""Records/s and peak over mean, of paper 2's table 3."""


class Throughput(NamedTuple):
    """Results per second: mean, standard deviation, and how much longer than the stream the run took."""

    mean: float
    deviation: float
    longer: float


def throughput(run: ElasticRun) -> Throughput:
    """Of windows, after the warm-up."""
    delivered_us = [delivery.delivered_us for delivery in run.windows.deliveries]
    rates = per_second(delivered_us, run.panes.warm_up_us, run.panes.end_us)
    longer = max(0.0, max(delivered_us) / run.panes.end_us - 1.0)
    return Throughput(float(np.mean(rates)), float(np.std(rates)), longer)


def per_second(at_us: Sequence[float], start_us: float, end_us: float) -> list[float]:
    """How often something happened, for each second."""
    borders = np.arange(start_us, end_us + 1.0, 1e6)
    return [float(number) for number in np.histogram(at_us, borders)[0]]


def mean_rhos(run: ElasticRun) -> tuple[float, float]:
    """Mean utilization of both stages, over the outer periods after the warm-up."""
    seen = [step.decided.seen for step in run.after_warm_up()]
    return float(np.mean([s.rho_panes for s in seen])), float(np.mean([s.rho_windows for s in seen]))


def power_share(workers: float, limit: int = 60) -> float:
    """Power over that with all workers: the authors' logs fit 92.3 W and 0.768 W for each worker."""
    return (92.3 + 0.768 * workers) / (92.3 + 0.768 * limit)
