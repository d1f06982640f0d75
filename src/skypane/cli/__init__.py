"""The command line: ``skypane demo``, ``run``, ``generate``, ``inspect``."""

from __future__ import annotations

from skypane.cli.app import app

__all__ = ["app"]
