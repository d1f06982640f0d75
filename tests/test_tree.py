"""Tests can be found: folders mirror the package or are topics of the map, and no test file imports another."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import skypane

TESTS = Path(__file__).parent
SOURCE = Path(skypane.__file__).parent
FILES = sorted(path for path in TESTS.rglob("*.py") if "fixtures" not in path.parts)
TOPICS = set(re.findall(r"^\| `(\w+)/` \|", (TESTS / "README.md").read_text(), re.MULTILINE))


def imported(text: str) -> set[str]:
    """Every dotted name that is imported, and the parts of it."""
    names = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names += [f"{node.module or ''}.{alias.name}" for alias in node.names]
    return {part for name in names for part in name.split(".")}


def test_imports_are_found_however_they_are_written() -> None:
    code = (
        "import tests.a.test_b\nfrom tests.a.test_c import x\nfrom tests.a import test_d\ndef f(): from . import test_e"
    )
    assert {name for name in imported(code) if name.startswith("test_")} == {"test_b", "test_c", "test_d", "test_e"}


def test_no_test_file_is_imported() -> None:
    tests = {path.stem for path in FILES if path.name.startswith("test_")}
    found = {str(path.relative_to(TESTS)): imported(path.read_text()) & tests for path in FILES}
    assert {path: names for path, names in found.items() if names} == {}


def test_every_folder_mirrors_the_package_or_is_a_topic_of_the_map() -> None:
    folders = {path.parent.relative_to(TESTS) for path in FILES} - {Path()}
    known = {folder for folder in folders if folder.parts[0] in TOPICS or (SOURCE / folder).is_dir()}
    assert folders - known == set()


def test_every_topic_of_the_map_is_there() -> None:
    assert {topic for topic in TOPICS if not (TESTS / topic).is_dir()} == set()
