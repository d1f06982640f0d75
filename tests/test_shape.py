"""The house stays one of small rooms: how long modules and functions are, and that each says what it is for."""

from __future__ import annotations

import ast
from pathlib import Path
from statistics import median

import skypane

PRODUCT = Path(skypane.__file__).parent
LAB = Path(__file__).parents[1] / "lab" / "src" / "skypane_lab"
MODULES = {
    path.relative_to(source.parent): path.read_text()
    for source in (PRODUCT, LAB)
    for path in sorted(source.rglob("*.py"))
}
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
    assert [at for at, lines in lengths.items() if lines > LONGEST_FUNCTION and at[0].parts[1] != "kernels"] == []
    assert median(lengths.values()) <= MEDIAN_FUNCTION


def test_every_module_says_what_it_is_for() -> None:
    assert [str(path) for path, text in MODULES.items() if text and not ast.get_docstring(ast.parse(text))] == []


def test_the_lab_is_there_and_the_product_does_not_know_it() -> None:
    """The import rule does not see imports for types, nor those by name."""
    known = {path.parts[0] for path, text in MODULES.items() if "skypane_lab" in text}
    assert known == {"skypane_lab"}


def test_objects_on_the_data_path_are_built_by_name() -> None:
    """At most three arguments by position, and none from a list."""
    assert [at for at, call in calls_on_the_data_path() if builds(call) and by_position(call)] == []


def test_no_options_on_the_data_path_are_lists_of_variables() -> None:
    """Neither ``vars()`` nor ``locals()``: type checkers do not see through them."""
    calls = [(at, call.func.id) for at, call in calls_on_the_data_path() if isinstance(call.func, ast.Name)]
    assert [at for at, name in calls if name in ("vars", "locals")] == []


def calls_on_the_data_path() -> list[tuple[str, ast.Call]]:
    """Where they are, in ``flow/`` and ``spark/jobs/``."""
    found = [
        (f"{path}:{node.lineno}", node)
        for path, text in MODULES.items()
        if path.parts[:2] == ("skypane", "flow") or path.parts[:3] == ("skypane", "spark", "jobs")
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call)
    ]
    assert len(found) > 1_000
    return found


def builds(call: ast.Call) -> bool:
    """Whether it calls a class, by its name."""
    function = call.func.value if isinstance(call.func, ast.Subscript) else call.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name == "cls" or name.lstrip("_")[:1].isupper()


def by_position(call: ast.Call) -> bool:
    """Whether a reader has to know the order of fields."""
    return len(call.args) > 3 or any(isinstance(argument, ast.Starred) for argument in call.args)


def test_what_decides_answers_never_imports_what_makes_them_fast() -> None:
    """Nor for types: the import rule does not see those."""
    decides = ("flow", "lateness", "queries", "tables", "kernels", "model")
    found = [
        f"{path}:{node.lineno}"
        for path, text in MODULES.items()
        if path.parts[0] == "skypane" and path.parts[1] in decides
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom) and "skypane.tuning" in ast.unparse(node)
    ]
    assert found == []
