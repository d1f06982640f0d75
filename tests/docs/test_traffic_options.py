"""The documentation lists the options as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from skypane.spark.sources.replay import OPTIONS as REPLAY_OPTIONS
from skypane.traffic import OPTIONS
from skypane.traffic.options import Option, as_markdown

PAGE = Path(__file__).parents[2] / "docs" / "traffic.md"


@pytest.mark.parametrize("options", [OPTIONS, REPLAY_OPTIONS], ids=["traffic", "replay"])
def test_the_page_lists_every_option_as_it_is(options: tuple[Option, ...]) -> None:
    assert as_markdown(options) in PAGE.read_text(encoding="utf-8"), "paste skypane.traffic.options.as_markdown(...)"
