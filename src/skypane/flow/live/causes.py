"""Causes: why a record enters or leaves a live answer."""

from __future__ import annotations

from typing import Final

CAUSES: Final = ("arrival", "influence", "dominated", "expired")
"""It comes; what kept it out has expired; a better one comes; it expires itself."""
ARRIVAL, INFLUENCE, DOMINATED, EXPIRED = range(4)
