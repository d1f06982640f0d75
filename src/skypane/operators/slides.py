"""Slides: which strategy slides the windows of which query."""

from __future__ import annotations

from skypane.model.errors import OptionError
from skypane.operators.critical import CriticalSlide
from skypane.operators.definition import Definition
from skypane.operators.recompute import RecomputeSlide
from skypane.operators.slide import Slide
from skypane.operators.tiles import TilesSlide
from skypane.queries.dominance import DominanceQuery
from skypane.queries.skyline import Skyline

SLIDES: dict[str, type[Slide]] = {slide.name: slide for slide in (CriticalSlide, TilesSlide, RecomputeSlide)}


FEW_PANES = 16
"""Windows of fewer panes are combined from the panes: tiles cost more than they save (measured: even at about 16)."""


def default_slide(definition: Definition) -> str:
    """The fastest strategy: incremental where windows overlap and the query allows it."""
    overlap = definition.window.panes_per_window > definition.window.panes_per_slide
    if isinstance(definition.query, DominanceQuery) and (overlap or definition.emit == "changes"):
        return CriticalSlide.name
    return TilesSlide.name if definition.window.panes_per_window >= FEW_PANES else RecomputeSlide.name


def check_slide(definition: Definition) -> None:
    """Refuse combinations that no strategy can do."""
    if definition.slide not in {"auto", *SLIDES}:
        raise OptionError(f"slide={definition.slide!r} must be one of: auto, {', '.join(sorted(SLIDES))}.")
    if definition.slide == CriticalSlide.name and not isinstance(definition.query, DominanceQuery):
        raise OptionError(f"slide='critical' is for skyline and top-delta, not {definition.query.kind}. Use 'auto'.")
    if definition.emit not in {"full", "changes"}:
        raise OptionError(f"emit={definition.emit!r} must be 'full' or 'changes'.")
    if definition.emit == "changes" and not (
        isinstance(definition.query, Skyline) and definition.slide in {"auto", CriticalSlide.name}
    ):
        raise OptionError(
            f"emit='changes' is for skyline queries with slide='auto', not for {definition.query.kind} with "
            f"slide={definition.slide!r}. Use emit='full'."
        )


def check_lateness(definition: Definition) -> None:
    """Refuse options for late records that cannot be had together."""
    if definition.processing not in {"out_of_order", "in_order"}:
        raise OptionError(f"processing={definition.processing!r} must be 'out_of_order' or 'in_order'.")
    if definition.allowed_lateness_us and definition.emit == "changes":
        raise OptionError(
            "allowed_lateness= corrects whole answers, but emit='changes' emits differences. Use emit='full'."
        )


def slide_for(definition: Definition, threads: int = 1) -> Slide:
    """The strategy of a query; it may use so many threads."""
    name = default_slide(definition) if definition.slide == "auto" else definition.slide
    return SLIDES[name](definition, threads)
