"""What docs/extend.md shows of the worked files is in them, word for word, and every public name on it is there."""

from __future__ import annotations

import re

import pytest

import skypane as sp
from skypane import testing
from tests.extend.conftest import EXAMPLES

PAGE = (EXAMPLES.parents[1] / "docs" / "extend.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
EXCERPTS = dict(re.findall(r"```python\n# examples/extend/(\w+\.py)\n(.*?)```", PAGE, re.DOTALL))


def test_there_is_an_excerpt_of_every_worked_file() -> None:
    assert set(EXCERPTS) == {path.name for path in EXAMPLES.glob("*.py")}


@pytest.mark.parametrize("file", EXCERPTS)
def test_an_excerpt_is_what_the_file_says(file: str) -> None:
    assert EXCERPTS[file] in (EXAMPLES / file).read_text()


def test_every_block_is_python_and_every_public_name_exists() -> None:
    for block in BLOCKS:
        compile(re.sub(r"^# examples.*\n", "class Excerpt:\n", block), "docs/extend.md", "exec")
    assert set(re.findall(r"\bsp\.([A-Z]\w+)", PAGE)) <= set(sp.__all__)
    assert set(re.findall(r"\bsp\.extend\.(\w+)", PAGE)) <= set(sp.extend.__all__)
    assert all(hasattr(testing, name) for name in re.findall(r"import (check_\w+)", PAGE))


def test_every_link_leads_somewhere() -> None:
    for target in re.findall(r"\]:? ?\(?(\.\./[^)#\s]+)", PAGE):
        assert (EXAMPLES.parents[1] / "docs" / target).resolve().exists(), target
