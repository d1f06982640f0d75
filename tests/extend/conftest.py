"""The worked files of docs/extend.md are no part of the package: they are found like anybody's own modules."""

from __future__ import annotations

import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples" / "extend"
sys.path.insert(0, str(EXAMPLES))
