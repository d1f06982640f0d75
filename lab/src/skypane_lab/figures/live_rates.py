"""Paper 4, figures 6 and 10 to 13: how many records per second workers process together."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from functools import cache
from typing import Final

from skypane_lab.figures.plotting import Figure, Panel
from skypane_lab.live.ownership import OWNERSHIPS
from skypane_lab.live.reduce import ASYNCHRONOUS, SYNCHRONOUS, Reduce
from skypane_lab.live.samples import MACHINES, LiveSample, draw_sample
from skypane_lab.live.setup import LiveSetup

_DEGREES: Final = (1, 2, 4, 6, 8, 10, 12)
_FEW_DEGREES: Final = (1, 2, 4, 8, 12)
_MORE_DEGREES: Final = (*_DEGREES, 16, 20)
_LONGEST: Final = {"independent": 5_000_000, "anticorrelated": 4_500_000, "correlated": 20_000_000}
_SEEDS: Final = (1, 2, 3)
_TABLE_2: Final = {
    "anticorrelated": (10, 80_000),
    "independent": (10, 100_000),
    "correlated": (60, 250_000),
}
"""Window in seconds and records per second with which paper 4 measures speed-ups."""


@cache
def _sample(name: str, seed: int) -> LiveSample:
    return draw_sample(name, _LONGEST[name], seed=seed)


@cache
def _short_sample(name: str) -> LiveSample:
    return draw_sample(name, _LONGEST[name], 140_000)


@cache
def offered(name: str, window: int, degree: int, policy: str = "llw+", reduce: Reduce = ASYNCHRONOUS) -> float:
    """The offered bandwidth with queues of 10,000 (OD: of 1), a mean over the samples."""
    setup = LiveSetup(MACHINES[name], degree, 1 if policy.startswith("od") else 10_000, OWNERSHIPS[policy], reduce)
    return sum(_sample(name, seed).offered(window, setup) for seed in _SEEDS) / len(_SEEDS)


@cache
def _sequential(name: str, window: int) -> float:
    return sum(_sample(name, seed).sequential(window, MACHINES[name]) for seed in _SEEDS) / len(_SEEDS)


def reduces() -> Figure:
    """6: the synchronous and the asynchronous reduce; independent points, 100,000 records/s, 20 s."""
    window = 2_000_000
    one = _sequential("independent", window)
    speed_ups: dict[str, list[float | None]] = {
        reduce.name: [offered("independent", window, n, reduce=reduce) / one for n in _DEGREES]
        for reduce in (SYNCHRONOUS, ASYNCHRONOUS)
    }
    pairs = list(zip(speed_ups["synchronous"], speed_ups["asynchronous"], strict=True))
    gains = [100.0 * (fast / slow - 1.0) for slow, fast in pairs if slow and fast]
    speed_ups["ideal"] = [float(n) for n in _DEGREES]
    panels = [
        Panel("speed-up", "workers", "times one thread", list(_DEGREES), speed_ups),
        Panel("gain of the asynchronous reduce", "workers", "%", list(_DEGREES), {"gain": gains}),
    ]
    rows = [
        [f"{n}", f"{slow:.2f}", f"{fast:.2f}", f"{gain:.1f} %"]
        for n, (slow, fast), gain in zip(_DEGREES, pairs, gains, strict=True)
    ]
    return Figure("Paper 4, fig. 6: reduce", panels, ["workers", "synchronous", "asynchronous", "gain"], rows)


def _bandwidths(title: str, cases: dict[str, list[tuple[int, int, str]]]) -> Figure:
    """Bandwidth by workers for windows and rates, and the workers that suffice; of each case what paper 4 says."""
    panels, rows = [], []
    for name, runs in cases.items():
        lines: dict[str, list[float | None]] = {}
        for seconds, rate, paper in runs:
            line = [min(rate, offered(name, seconds * rate, n)) for n in _DEGREES]
            lines[f"{seconds} s, {rate // 1000} K/s"] = [value / 1000.0 for value in line]
            enough = next((n for n in range(1, 21) if offered(name, seconds * rate, n) >= rate), None)
            stored = sum(_sample(name, seed).stored(seconds * rate) for seed in _SEEDS) / len(_SEEDS)
            cells = [f"{value / 1000.0:.1f}" for value in line]
            shown = "more than 20" if enough is None else f"{enough}"
            rows.append([name, f"{seconds} s, {rate:,}/s", f"{stored:,.0f}", *cells, shown, paper])
        panels.append(Panel(name, "workers", "thousand records/s", list(_DEGREES), lines))
    header = ["points", "window, rate", "stored", *(f"{n}" for n in _DEGREES), "workers needed", "paper 4"]
    return Figure(title, panels, header, rows)


def by_window() -> Figure:
    """10: 40,000 records/s, windows of 10 to 90 s."""
    needs = {10: "8", 30: "8", 60: "10", 90: "12"}
    cases = {
        "anticorrelated": [(seconds, 40_000, paper) for seconds, paper in needs.items()],
        "independent": [(seconds, 40_000, "fewer") for seconds in needs],
    }
    return _bandwidths("Paper 4, fig. 10: bandwidth by window", cases)


def by_rate() -> Figure:
    """11: windows of 10 s, 50,000 and 100,000 records/s."""
    cases = {
        "anticorrelated": [(10, 50_000, "8"), (10, 100_000, "more than 12")],
        "independent": [(10, 50_000, ""), (10, 100_000, "more than 12")],
    }
    return _bandwidths("Paper 4, fig. 11: bandwidth by rate", cases)


def by_ownership() -> Figure:
    """12: speed-up of the policies, with table II's windows and rates."""
    panels, rows = [], []
    for name, (seconds, rate) in _TABLE_2.items():
        window = seconds * rate
        one = _sequential(name, window)
        lines: dict[str, list[float | None]] = {}
        for policy in OWNERSHIPS:
            line = [offered(name, window, n, policy) / one for n in _MORE_DEGREES]
            lines[policy] = list(line)
            rows.append([name, policy, *(f"{value:.2f}" for value in line)])
        panels.append(Panel(name, "workers", "times one thread", list(_MORE_DEGREES), lines))
    header = ["points", "ownership", *(f"{n}" for n in _MORE_DEGREES)]
    return Figure("Paper 4, fig. 12: speed-up", panels, header, rows)


def _offered_once(name: str, window: int, degree: int) -> float:
    """The offered bandwidth of one, shorter stream: there are many to be found."""
    return _short_sample(name).offered(window, LiveSetup(MACHINES[name], degree))


def highest_rate(name: str, seconds: int, degree: int) -> float:
    """The rate that just equals the bandwidth offered at it, to 1 %: more records per second, more stored ones."""
    rate = 10_000.0
    while True:
        surplus = _offered_once(name, int(rate * seconds), degree) / rate
        if abs(surplus - 1.0) < 0.01:
            return rate
        # The live set grows about as the cube root of the window, so that the surplus falls with the rate to the 4/3.
        rate = min(rate * surplus**0.75, _LONGEST[name] / seconds)


def _rates_of(name: str) -> dict[int, list[float]]:
    """By window in seconds: the highest rates by degree."""
    return {seconds: [highest_rate(name, seconds, n) for n in _FEW_DEGREES] for seconds in (30, 60)}


def highest_rates() -> Figure:
    """13: the highest rate that is sustained, windows of 30 and 60 s."""
    degrees = _FEW_DEGREES
    panels, rows = [], []
    with ProcessPoolExecutor() as pool:
        by_name = dict(zip(MACHINES, pool.map(_rates_of, MACHINES), strict=True))
    for name, found in by_name.items():
        lines: dict[str, list[float | None]] = {
            f"{seconds} s": [value / 1000.0 for value in line] for seconds, line in found.items()
        }
        lines["square root of the workers"] = [found[30][0] * n**0.5 / 1000.0 for n in degrees]
        panels.append(Panel(name, "workers", "thousand records/s", list(degrees), lines))
        for seconds, line in found.items():
            rows.append([name, f"{seconds} s", *(f"{value:,.0f}" for value in line)])
        less = [1.0 - longer / shorter for shorter, longer in zip(found[30], found[60], strict=True)]
        rows.append([name, "60 s below 30 s by", *(f"{value:.0%}" for value in less)])
    header = ["points", "window", *(f"{n}" for n in degrees)]
    return Figure("Paper 4, fig. 13: highest rate", panels, header, rows)
