"""Marks: cases that ``make test`` leaves to ``make soak``, because others like them are there."""

from __future__ import annotations

from functools import partial

import pytest

LONG = partial(pytest.param, marks=pytest.mark.soak)
