"""Figure: panels of lines, and the same numbers as a Markdown table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skypane.model.errors import SkypaneError

_COLOURS = ("#2a6f97", "#c1121f", "#588157", "#e09f3e", "#7b2cbf", "#8d99ae", "#000000", "#d81159")
_SAME = 0.005
"""Of the height of a panel: values as near as this look the same."""
_APART = 0.25
"""Of its points: a line with more than this beside another one is seen."""


@dataclass(frozen=True)
class Panel:
    """One coordinate system: lines by name, all over the same x."""

    title: str
    x_label: str
    y_label: str
    x: Sequence[float | str]
    lines: Mapping[str, Sequence[float | None]]
    level: float | None = None
    """A dashed line across, for a set-point."""
    top: float | None = None
    """Cut the y axis here: a bottleneck's values run away."""
    log: bool = False


@dataclass(frozen=True)
class Figure:
    """What is drawn, and the rows of the table."""

    title: str
    panels: Sequence[Panel]
    header: Sequence[str]
    rows: Sequence[Sequence[str]]

    def write(self, folder: Path, name: str) -> list[Path]:
        """Write ``fig-<name>.png`` and ``fig-<name>.md``."""
        folder.mkdir(parents=True, exist_ok=True)
        text = folder / f"fig-{name}.md"
        lines = [self.header, ["---"] * len(self.header), *self.rows]
        text.write_text("\n".join("| " + " | ".join(cells) + " |" for cells in lines) + "\n")
        picture = folder / f"fig-{name}.png"
        self._plot(picture)
        return [picture, text]

    def _plot(self, path: Path) -> None:
        try:
            from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415
            from matplotlib.figure import Figure as Canvas  # noqa: PLC0415
        except ImportError as error:
            raise SkypaneError("figures need matplotlib: pip install 'skypane[plots]'") from error
        columns = 2 if len(self.panels) > 1 else 1
        rows = -(-len(self.panels) // columns)
        canvas = Canvas(figsize=(4.6 * columns, 2.9 * rows + 0.3), layout="constrained")
        FigureCanvasAgg(canvas)
        grid = canvas.subplots(rows, columns, squeeze=False)
        for axes, panel in zip(grid.flat, self.panels, strict=False):
            draw_panel(axes, panel)
        for axes in list(grid.flat)[len(self.panels) :]:
            axes.set_axis_off()
        canvas.suptitle(self.title, fontsize=10)
        # Without the version of the software in it, the same numbers give the same file.
        canvas.savefig(path, dpi=90 if rows == 1 else 72, metadata={"Software": None})


def draw_panel(axes: Any, panel: Panel) -> None:
    """Draw the lines; one that others lie upon is wider than they are."""
    named = any(isinstance(x, str) for x in panel.x)
    places = list(range(len(panel.x))) if named else list(panel.x)
    for colour, (label, values), above in zip(_COLOURS, panel.lines.items(), _lines_upon(panel), strict=False):
        shown = [(x, y) for x, y in zip(places, values, strict=True) if y is not None]
        axes.plot(
            *zip(*shown, strict=True),
            marker="o",
            markersize=3,
            linewidth=1.2 + 2.5 * above,
            color=colour,
            label=label,
        )
    if panel.level is not None:
        axes.axhline(panel.level, color="#8d99ae", linewidth=0.9, linestyle="--")
    if named:
        axes.set_xticks(places, [str(x) for x in panel.x])
    if panel.log:
        axes.set_yscale("log")
    else:
        axes.set_ylim(0, panel.top)
    axes.set_xlabel(panel.x_label, fontsize=8)
    axes.set_ylabel(panel.y_label, fontsize=8)
    axes.set_title(panel.title, fontsize=9)
    axes.tick_params(labelsize=7)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(fontsize=7, frameon=False)


def _lines_upon(panel: Panel) -> list[int]:
    """Of each line, how many that are drawn later lie upon it."""
    lines = _heights(panel)
    return [sum(_lies_upon(later, line) for later in lines[at + 1 :]) for at, line in enumerate(lines)]


def _heights(panel: Panel) -> list[list[float | None]]:
    """The lines as they are seen: in shares of the height of the panel."""
    lines = [[math.log(y) if y and panel.log else y for y in line] for line in panel.lines.values()]
    values = [y for line in lines for y in line if y is not None]
    least = min(values, default=0.0) if panel.log else 0.0
    height = panel.top or max(values, default=1.0) - least or 1.0
    return [[None if y is None else (y - least) / height for y in line] for line in lines]


def _lies_upon(upper: Sequence[float | None], lower: Sequence[float | None]) -> bool:
    """Whether a line can hardly be seen for another."""
    seen = [y is None or abs(y - other) > _SAME for other, y in zip(lower, upper, strict=True) if other is not None]
    return sum(seen) <= _APART * len(seen)
