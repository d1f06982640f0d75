"""Flags of the JVMs that tests start: they live shortly, so they compile little and collect simply."""

from __future__ import annotations

SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
