"""Slides: which strategy slides the windows of which query."""

from __future__ import annotations

from skypane.flow.definition import Definition
from skypane.flow.windows.slide.base import Slide
from skypane.flow.windows.slide.critical import CriticalSlide
from skypane.flow.windows.slide.recompute import RecomputeSlide
from skypane.flow.windows.slide.tiles import TilesSlide
from skypane.model.errors import OptionError

SLIDES: dict[str, type[Slide]] = {slide.name: slide for slide in (CriticalSlide, TilesSlide, RecomputeSlide)}


FEW_PANES = 16
"""Windows of fewer panes are combined from the panes: tiles cost more than they save (measured: even at about 16)."""


def default_slide(definition: Definition) -> str:
    """The fastest strategy: incremental where windows overlap and the query allows it."""
    if definition.query.dominance is not None and (definition.window.overlap or definition.emit.looks_back):
        return CriticalSlide.name
    return slide_apart(definition)


def slide_apart(definition: Definition) -> str:
    """The fastest strategy that answers each window from its own panes, so that tasks can share them."""
    if definition.query.keeps_records:  # there is nothing to combine once for several windows
        return RecomputeSlide.name
    many_panes = definition.window.panes_per_window >= FEW_PANES
    return TilesSlide.name if many_panes and not _must_repeat(definition) else RecomputeSlide.name


def _must_repeat(definition: Definition) -> bool:
    """Whether an answer is computed in two steps and must be the same to the last bit.

    Tiles do not promise that for sums of doubles: which panes are added up first depends on the panes there are.
    """
    exact = definition.query.selective or definition.query.keeps_records
    return definition.emit.looks_back > 0 and not exact


def check_slide(definition: Definition) -> None:
    """Refuse combinations that no strategy can do."""
    if definition.sliding not in {"auto", *SLIDES}:
        raise OptionError(f"sliding={definition.sliding!r} must be one of: auto, {', '.join(sorted(SLIDES))}.")
    if definition.sliding == CriticalSlide.name and definition.query.dominance is None:
        raise OptionError(f"sliding='critical' is for skyline and top-delta, not {definition.query.kind}. Use 'auto'.")
    if definition.sliding == TilesSlide.name and _must_repeat(definition):
        raise OptionError(
            "sliding='tiles' may round an aggregate differently each time that it is computed, which .emit('changes') "
            "would send as a change. Use sliding='auto'."
        )


def slide_for(definition: Definition) -> Slide:
    """The strategy of a query."""
    name = default_slide(definition) if definition.sliding == "auto" else definition.sliding
    return SLIDES[name](definition)
