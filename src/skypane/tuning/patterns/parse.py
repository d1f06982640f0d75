"""Trees as text: ``WF(PF(2,3) L2, 10) L1``, or with whole names; what a command line or a file can say."""

from __future__ import annotations

import re
from typing import Final

from skypane.model.errors import OptionError
from skypane.tuning.patterns.base import Pattern
from skypane.tuning.patterns.key_farm import KeyFarm
from skypane.tuning.patterns.pane_farm import PaneFarm
from skypane.tuning.patterns.win_farm import WinFarm
from skypane.tuning.patterns.win_map_reduce import WinMapReduce
from skypane.tuning.patterns.win_seq import WinSeq

PATTERNS: Final = (WinSeq, KeyFarm, WinFarm, PaneFarm, WinMapReduce)
_BY_NAME: Final[dict[str, type[Pattern]]] = {
    name.lower(): kind for kind in PATTERNS for name in (kind.kind, kind.short)
}
_TOKEN = re.compile(r"\s*([A-Za-z_]+\d?|\d+|[(),])")
_LEVEL = re.compile(r"l(\d)", re.IGNORECASE)


def parse_pattern(text: str) -> Pattern:
    """The tree that a text means; one that means none is refused with an example."""
    tokens = _tokens(text)
    try:
        tree = _tree(tokens)
    except (IndexError, KeyError, ValueError, TypeError) as error:
        if isinstance(error, OptionError):
            raise
        raise _wrong(text) from None
    if tokens:
        raise _wrong(text)
    return tree


def _tokens(text: str) -> list[str]:
    found = [match.group(1) for match in _TOKEN.finditer(text)]
    if "".join(found) != re.sub(r"\s", "", text):
        raise _wrong(text)
    return found


def _tree(tokens: list[str]) -> Pattern:
    kind = _BY_NAME[tokens.pop(0).lower().replace("_", "")]
    arguments: list[Pattern | int] = []
    if tokens[:1] == ["("]:
        tokens.pop(0)
        while tokens[:1] != [")"] or arguments:
            arguments.append(int(tokens.pop(0)) if tokens[0].isdigit() else _tree(tokens))
            mark = tokens.pop(0)
            if mark == ")":
                break
            if mark != ",":
                raise ValueError(mark)
        else:
            tokens.pop(0)
    tree = kind(*arguments)
    level = _LEVEL.fullmatch(tokens[0]) if tokens else None
    if level is None:
        return tree
    tokens.pop(0)
    return tree.fused(int(level.group(1)))


def _wrong(text: str) -> OptionError:
    return OptionError(
        f"pattern={text!r} is no tree of patterns; write e.g. 'KF(4)', 'PF(2,3)' or 'WF(PF(2,3) L2, 10) L1'. There "
        f"are {', '.join(f'{kind.short} ({kind.kind})' for kind in PATTERNS)}; L1 and L2 are levels of fusion."
    )
