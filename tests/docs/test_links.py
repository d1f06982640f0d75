"""Every link from a page of the documentation to a file or folder leads somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLACES = ("*.md", "docs/**/*.md", "examples/**/*.md", "lab/**/*.md", "tests/*.md")
PAGES = sorted(page for place in PLACES for page in ROOT.glob(place))
LINK = re.compile(r"\]\(([^)\s]+)\)|^\[[^\]]+\]: (\S+)$", re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    targets = [inline or reference for inline, reference in LINK.findall(page.read_text())]
    files = [target.partition("#")[0] for target in targets if "://" not in target and not target.startswith("#")]
    assert [file for file in files if not (page.parent / file).exists()] == []
