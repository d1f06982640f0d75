"""Lateness: the shares that controlled slack reaches, what harm-driven slack saves, out of order against in order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from rich.table import Table

from skypane.flow.definition import Definition
from skypane.lateness.policies.drop_ratio import DropRatio
from skypane.lateness.policies.harm import Harm
from skypane.lateness.policies.kslack import KSlack
from skypane.lateness_study.plots import plot_outcomes
from skypane.lateness_study.study import Outcome, Step, cut_by_arrival, run_policy
from skypane.model.windows import WindowSpec
from skypane.queries.preferences import Preferences
from skypane.queries.skyline import Skyline
from skypane.traffic.reading import chunks
from skypane.traffic.spec import TrafficSpec
from skypane.traffic.stream import Stream

TARGETS = (0.05, 0.01, 0.001)
DELAYS: dict[str, dict[str, str]] = {
    "uniform": {"disorder": "uniform"},
    "heavy tail": {"disorder": "pareto"},
    "bursty": {"disorder": "stalls", "mean_delay": "50 ms", "stalled_share": "0.2", "partitions": "4"},
}


def run(quick: bool) -> dict[str, Any]:
    """All three studies on generated streams, in virtual time."""
    return {"reached": reached(quick), "harm": harm(quick), "order": order(quick)}


def steps_of(
    attributes: int, rate: int, seconds: int, options: Mapping[str, str], interval_us: int = 100_000
) -> list[Step]:
    spec = {"attributes": str(attributes), "rate": str(rate), "duration": f"{seconds} s", "seed": "7", **options}
    batches = chunks(Stream(TrafficSpec.from_options(spec)))
    return list(cut_by_arrival((pa.Table.from_batches([batch]) for batch in batches), "arrival", interval_us))


def skyline(attributes: int) -> Definition:
    names = tuple(f"a{index}" for index in range(attributes))
    window = WindowSpec(1_000_000, 200_000)
    return Definition(Skyline(Preferences(names, ())), window, "ts", harm_horizon_us=20_000_000)


def reached(quick: bool) -> list[dict[str, Any]]:
    """Each target on each kind of delay, for dropped and for harmful records; at least 200 losses are expected."""
    found = []
    for name, options in DELAYS.items():
        for target in TARGETS:
            # Few records in a window make many of them matter: a harm of 5 % can be reached.
            rate = 2_000 if target > 0.001 else 5_000
            seconds = int(max(120, 4 * 200 / target / rate)) // (3 if quick else 1)
            if name == "bursty" and target < 0.05:
                seconds *= 5  # what counts is how many bursts there are, not how many records
            steps = steps_of(6, rate, seconds, options)
            for policy in (DropRatio(target), Harm(target)):
                outcome = run_policy(skyline(6), policy, steps, warm_up=0.3)
                share = outcome.late_share if isinstance(policy, DropRatio) else outcome.harm_share
                found.append({"delays": name, "target": target, "reached": share / target, **asdict(outcome)})
    return found


def harm(quick: bool) -> list[dict[str, Any]]:
    """Drop-driven and harm-driven slack with the same target, on 2, 4 and 6 attributes."""
    found = []
    for attributes in (2, 4, 6):
        steps = steps_of(attributes, 20_000, 15 if quick else 50, {"disorder": "exponential"})
        for target in (0.01, 0.001):
            for policy in (DropRatio(target), Harm(target)):
                outcome = run_policy(skyline(attributes), policy, steps, warm_up=0.3)
                found.append({"attributes": attributes, "target": target, **asdict(outcome)})
    return found


def order(quick: bool) -> list[dict[str, Any]]:
    """Out-of-order against in-order processing with the same K-slack, as delays grow (the first paper's Figure 9)."""
    found = []
    for delay_ms in (0, 100, 250, 500, 1_000):
        options = {"disorder": "uniform", "mean_delay": f"{delay_ms} ms"} if delay_ms else {"disorder": "none"}
        bursts = {"arrivals": "map", "dispersion": "1000", **options}
        steps = steps_of(6, 10_000, 8 if quick else 20, bursts, 20_000)
        definition = replace(skyline(6), harm_horizon_us=0)
        for processing in ("out_of_order", "in_order"):
            outcome = run_policy(replace(definition, processing=processing), KSlack(), steps)
            found.append({"mean_delay_ms": delay_ms, "processing": processing, **asdict(outcome)})
    return found


def tables(found: dict[str, Any]) -> list[Table]:
    """One for each study."""
    ratios = Table(
        title="Share reached, as a multiple of the target (6 attributes, after warm-up)", title_justify="left"
    )
    for column in ("delays", "policy", "records", "late", "harmful", "reached / target", "slack", "window latency"):
        ratios.add_column(column, justify="left" if column in {"delays", "policy"} else "right")
    for row in found["reached"]:
        ratios.add_row(
            row["delays"], row["policy"], f"{row['records']:,}", *_shares(row), f"{row['reached']:.2f}", *_ms(row)
        )
    gains = Table(title="Drop-driven and harm-driven slack, exponential delays of 200 ms", title_justify="left")
    for column in ("attributes", "policy", "late", "harmful", "slack", "window latency"):
        gains.add_column(column, justify="left" if column == "policy" else "right")
    for row in found["harm"]:
        gains.add_row(str(row["attributes"]), row["policy"], *_shares(row), *_ms(row))
    model = Table(title="Out of order against in order, K-slack, bursty arrivals (I = 1000)", title_justify="left")
    for column in ("mean delay", "processing", "pane latency", "closing lag", "rows held"):
        model.add_column(column, justify="right")
    for row in found["order"]:
        latencies = (f"{row[name]:,.0f} ms" for name in ("pane_latency_ms", "closing_lag_ms"))
        model.add_row(f"{row['mean_delay_ms']} ms", row["processing"], *latencies, f"{row['held_rows']:,.0f}")
    return [ratios, gains, model]


def plot(found: dict[str, Any], folder: Path) -> None:
    """Latency against loss for each number of attributes."""
    names = Outcome.__dataclass_fields__
    for attributes in (2, 4, 6):
        rows = [row for row in found["harm"] if row["attributes"] == attributes]
        outcomes = [Outcome(**{name: row[name] for name in names}) for row in rows]
        plot_outcomes(outcomes, folder / f"lateness-{attributes}.png", f"skyline of {attributes} attributes")


def _shares(row: dict[str, Any]) -> tuple[str, str]:
    return f"{row['late_share']:.3%}", f"{row['harm_share']:.4%}"


def _ms(row: dict[str, Any]) -> tuple[str, str]:
    return f"{row['slack_ms']:,.0f} ms", f"{row['window_latency_ms']:,.0f} ms"
