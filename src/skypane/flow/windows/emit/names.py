"""The emissions by name."""

from __future__ import annotations

from typing import Final

from skypane.flow.windows.emit.base import Emission
from skypane.flow.windows.emit.changes import Changes
from skypane.flow.windows.emit.full import Full
from skypane.flow.windows.emit.intervals import Intervals
from skypane.flow.windows.emit.updates import Updates
from skypane.model.errors import OptionError

EMISSIONS: Final[dict[str, type[Emission]]] = {kind.name: kind for kind in (Full, Changes, Updates, Intervals)}


def emission(wanted: str | Emission) -> Emission:
    """The emission that an option names, or is."""
    if isinstance(wanted, Emission):
        return wanted
    if not isinstance(wanted, str) or wanted not in EMISSIONS:
        names = " or ".join(map(repr, EMISSIONS))
        raise OptionError(f"emit={wanted!r} must be {names}, or an sp.extend.Emission of your own.")
    return EMISSIONS[wanted]()
