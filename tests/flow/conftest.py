"""Thresholds that tests lower are as they were for the tests of other files."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from skypane.kernels import sliding


@pytest.fixture(autouse=True, scope="module")
def _thresholds() -> Iterator[None]:
    big_key_rows = sliding.BIG_KEY_ROWS
    yield
    sliding.BIG_KEY_ROWS = big_key_rows
