"""The Python blocks of the documentation: where they are, which are excerpts, which are marked as not run."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from types import CodeType

ROOT = Path(__file__).parents[2]
_FENCE = re.compile(r"(?:<!-- not run: (?P<why>[^>]+) -->\n+)?^```python\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
_EXCERPT = re.compile(r"# (examples/\S+\.py)\n")


@dataclass(frozen=True)
class Block:
    """One block of a page, with the line of the page on which its code starts."""

    page: str
    line: int
    code: str
    not_run: str | None

    @property
    def excerpt_of(self) -> str | None:
        """The file that the block shows a part of: its first line names it."""
        found = _EXCERPT.match(self.code)
        return None if found is None else found.group(1)

    def compiled(self) -> CodeType:
        """The code, whose tracebacks show the lines of the page."""
        return compile("\n" * (self.line - 1) + self.code, str(ROOT / self.page), "exec")


def blocks_of(page: str, text: str) -> list[Block]:
    """The Python blocks of a page, in order."""
    return [
        Block(page, text.count("\n", 0, found.start("code")) + 1, found["code"], found["why"])
        for found in _FENCE.finditer(text)
    ]


def pages() -> dict[str, list[Block]]:
    """All pages for users that have Python blocks, by their path."""
    paths = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md")), *sorted(ROOT.glob("examples/**/*.md"))]
    found = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in paths}
    return {page: blocks for page, text in found.items() if (blocks := blocks_of(page, text))}
