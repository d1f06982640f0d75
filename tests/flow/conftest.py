"""Thresholds that tests lower are as they were for the tests of other files."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from skypane.flow.windows.slide import critical


@pytest.fixture(autouse=True, scope="module")
def _thresholds() -> Iterator[None]:
    big_key_rows = critical.BIG_KEY_ROWS
    yield
    critical.BIG_KEY_ROWS = big_key_rows
