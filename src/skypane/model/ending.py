"""Ending: why a step without records is taken."""

from __future__ import annotations

from typing import Literal

Ending = Literal["idle", "auto", "all"]
"""A step without records: the stream pauses, the available records are through, the stream is over."""
