"""Figure: panels of lines, and the same numbers as a Markdown table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skypane.model.errors import SkypaneError

_COLOURS = ("#2a6f97", "#c1121f", "#588157", "#e09f3e", "#7b2cbf", "#8d99ae", "#000000", "#d81159")


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
            _draw_panel(axes, panel)
        for axes in list(grid.flat)[len(self.panels) :]:
            axes.set_axis_off()
        canvas.suptitle(self.title, fontsize=10)
        # Without the version of the software in it, the same numbers give the same file.
        canvas.savefig(path, dpi=90 if rows == 1 else 72, metadata={"Software": None})


def _draw_panel(axes: Any, panel: Panel) -> None:
    named = any(isinstance(x, str) for x in panel.x)
    places = list(range(len(panel.x))) if named else list(panel.x)
    for colour, (label, values) in zip(_COLOURS, panel.lines.items(), strict=False):
        shown = [(x, y) for x, y in zip(places, values, strict=True) if y is not None]
        axes.plot(*zip(*shown, strict=True), marker="o", markersize=3, linewidth=1.2, color=colour, label=label)
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
