"""Plots: arrivals at three time scales and the pattern of the delays, as PNG files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from skypane.model.errors import SkypaneError
from skypane.model.groups import Int64Array
from skypane.traffic.arrivals.base import US_PER_S

_BINS = 150
BLUE, RED, GREY = "#2a6f97", "#c1121f", "#8d99ae"


def plot_arrivals(arrival_us: Int64Array, path: Path, title: str) -> Path:
    """The whole stream, its middle tenth and its middle hundredth, each in as many bins, if enough arrives there."""
    since_us = arrival_us - arrival_us[0]
    whole_us = int(since_us[-1]) + 1
    names = ["all"]
    for share, name in ((0.1, "the middle tenth"), (0.01, "the middle hundredth")):
        if len(_middle(since_us, share)) >= _BINS and whole_us * share >= _BINS:
            names.append(name)
    figure = new_figure(rows=len(names))
    unit, unit_name = _unit(whole_us)
    for axes, share in zip(figure.subplots(len(names), 1, squeeze=False)[:, 0], (1.0, 0.1, 0.01), strict=False):
        start_us = int(whole_us * (1.0 - share) / 2)
        bin_us = max(1, int(whole_us * share / _BINS))
        counts = np.bincount((_middle(since_us, share) - start_us) // bin_us, minlength=_BINS)[:_BINS]
        edges = (start_us + np.arange(len(counts) + 1) * bin_us) / unit
        rates = counts * (US_PER_S / bin_us)
        axes.stairs(rates, edges, fill=True, color=BLUE, alpha=0.85)
        axes.axhline(rates.mean(), color=RED, linewidth=0.9, linestyle="--", label="mean")
        axes.set(xlim=(edges[0], edges[-1]), ylim=(0, rates.max() * 1.1), ylabel="records/s")
        axes.yaxis.set_major_formatter(lambda rate, _: f"{rate:,.10g}")
        axes.set_title(f"bins of {_length(bin_us)}", fontsize=9, loc="right")
    figure.axes[0].set_title(title, fontsize=10, loc="left")
    figure.axes[0].legend(loc="upper right", fontsize=8, frameon=False)
    parts = f" ({', '.join(names)})" if len(names) > 1 else ""
    figure.axes[-1].set_xlabel(f"arrival, {unit_name} from the start{parts}")
    return save_figure(figure, path)


def _middle(since_us: Int64Array, share: float) -> Int64Array:
    """The arrivals in the middle ``share`` of the time."""
    whole_us = int(since_us[-1]) + 1
    start_us = int(whole_us * (1.0 - share) / 2)
    return since_us[(since_us >= start_us) & (since_us < start_us + whole_us * share)]


def plot_delays(ts_us: Int64Array, arrival_us: Int64Array, path: Path, title: str) -> Path:
    """Delay of records over time, and its distribution."""
    figure = new_figure(rows=2)
    over_time, spread = figure.subplots(2, 1)
    delay_unit, delay_name = _unit(int((arrival_us - ts_us).max()))
    time_unit, time_name = _unit(int(arrival_us[-1] - arrival_us[0]))
    delays = (arrival_us - ts_us) / delay_unit
    elapsed = (arrival_us - arrival_us[0]) / time_unit
    shown = np.unique(np.linspace(0, len(delays) - 1, 4000).astype(np.int64))
    over_time.scatter(elapsed[shown], delays[shown], s=2, color=BLUE, alpha=0.5, linewidths=0)
    slot = np.minimum((elapsed / max(elapsed[-1], 1e-9) * _BINS).astype(np.int64), _BINS - 1)
    highest = np.zeros(_BINS)
    np.maximum.at(highest, slot, delays)
    middles = (np.arange(_BINS) + 0.5) * elapsed[-1] / _BINS
    over_time.plot(middles, highest, color=RED, linewidth=0.9, drawstyle="steps-mid", label="longest")
    over_time.set(
        xlabel=f"arrival, {time_name} from the start", ylabel=f"delay, {delay_name}", xlim=(0, max(elapsed[-1], 1e-9))
    )
    over_time.legend(loc="upper right", fontsize=8, frameon=False)
    over_time.set_title(title, fontsize=10, loc="left")
    ordered = np.sort(delays)
    from_end = np.geomspace(1, len(ordered), 1000).astype(np.int64)  # the tail is what matters
    at = np.unique(len(ordered) - from_end)
    spread.plot(ordered[at], 1.0 - at / len(ordered), color=BLUE, linewidth=1.2)
    spread.axvline(float(delays.mean()), color=GREY, linewidth=0.9, linestyle="--", label="mean")
    spread.set(
        xlabel=f"delay, {delay_name}", ylabel="share of records above", yscale="log", ylim=(0.5 / len(ordered), 1.5)
    )
    spread.set_xlim(left=min(0.0, float(ordered[0])))
    spread.legend(loc="upper right", fontsize=8, frameon=False)
    return save_figure(figure, path)


def new_figure(rows: int) -> Any:
    """An empty figure for so many panels, one below the other."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError as error:
        raise SkypaneError("plots need matplotlib: pip install 'skypane[plots]'") from error
    figure = Figure(figsize=(8, 2.1 * rows + 0.6), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def logarithmic(axes: Any) -> None:
    """A logarithmic axis of x whose numbers are plain, and few enough to stand beside each other."""
    from matplotlib.ticker import LogLocator, NullFormatter  # noqa: PLC0415 - whoever has axes has matplotlib

    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")
    axes.xaxis.set_minor_formatter(NullFormatter())


def save_figure(figure: Any, path: Path) -> Path:
    """Write a PNG file; the same figure gives the same bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=8)
    # Without the version of the software in it, the same stream gives the same file.
    figure.savefig(path, dpi=110, metadata={"Software": None})
    return path


def _unit(longest_us: int) -> tuple[float, str]:
    """The unit that suits times up to ``longest_us``, in microseconds, and its name."""
    for seconds, name in ((86_400, "days"), (3_600, "hours"), (60, "minutes")):
        if longest_us >= 5 * seconds * US_PER_S:
            return float(seconds * US_PER_S), name
    return (float(US_PER_S), "seconds") if longest_us >= US_PER_S else (1_000.0, "milliseconds")


def _length(length_us: int) -> str:
    unit, name = _unit(length_us)
    return f"{length_us / unit:.3g} {name}"
