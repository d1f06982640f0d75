"""The house stays one of small rooms: how long modules and functions are, and that each says what it is for."""

from __future__ import annotations

import ast
from pathlib import Path
from statistics import median

import skypane

SOURCE = Path(skypane.__file__).parent
MODULES = {path.relative_to(SOURCE): path.read_text() for path in sorted(SOURCE.rglob("*.py"))}
LONGEST_MODULE, LONGEST_FUNCTION, MEDIAN_FUNCTION = 350, 40, 6


def functions(text: str) -> dict[str, int]:
    """How many lines each has, decorators and docstring aside."""
    found = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return {f"{node.name}:{node.lineno}": (node.end_lineno or 0) - node.lineno + 1 - documented(node) for node in found}


def documented(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """How many lines the docstring has."""
    first = node.body[0]
    return 0 if ast.get_docstring(node) is None else (first.end_lineno or 0) - first.lineno + 1


def test_no_module_is_long() -> None:
    sizes = {str(path): len(text.splitlines()) for path, text in MODULES.items()}
    assert {name: size for name, size in sizes.items() if size > LONGEST_MODULE} == {}


def test_no_function_is_long_but_kernels() -> None:
    lengths = {(path, name): lines for path, text in MODULES.items() for name, lines in functions(text).items()}
    assert len(lengths) > 1_000
    assert [at for at, lines in lengths.items() if lines > LONGEST_FUNCTION and at[0].parts[0] != "kernels"] == []
    assert median(lengths.values()) <= MEDIAN_FUNCTION


def test_every_module_says_what_it_is_for() -> None:
    assert [str(path) for path, text in MODULES.items() if text and not ast.get_docstring(ast.parse(text))] == []
