"""Everything that is stored goes through the disk port: a path around it would escape the faults of the tests."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import skypane.spark

SPARK = Path(skypane.spark.__file__).parent
FILES = [
    *(path for path in sorted((SPARK / "store").glob("*.py")) if path.name != "disk.py"),
    *sorted((SPARK / "jobs").glob("*.py")),
    *(SPARK / "sinks" / name for name in ("base.py", "folder.py", "parquet.py", "parquet_index.py", "upsert.py")),
    *(SPARK / name for name in ("driver.py", "ports.py", "outputs.py")),
]
MODULES = {"shutil", "tempfile", "fcntl", "io", "mmap", "glob"}
OF_PATHS = {
    *("exists", "glob", "hardlink_to", "is_dir", "is_file", "iterdir", "lstat", "mkdir", "open", "read_bytes"),
    *("read_text", "rename", "replace", "rglob", "rmdir", "stat", "symlink_to", "touch", "unlink", "walk"),
    *("write_bytes", "write_text"),
}
OF_OS = {"environ", "PathLike", "fspath", "cpu_count", "kill", "getpid"}
OF_ARROW = {"OSFile", "memory_map", "read_table", "write_table", "read_metadata", "read_schema", "FileSystem"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_files_are_touched_through_the_port_only(path: Path) -> None:
    assert around_the_port(path.read_text()) == []


@pytest.mark.parametrize(
    "code",
    [
        "import shutil",
        "from pathlib import Path\nPath('x').unlink()",
        "open('x')",
        "import os\nos.scandir('x')",
        "import pyarrow as pa\npa.OSFile('x')",
        "a.replace(b)",
    ],
)
def test_a_way_around_would_be_noticed(code: str) -> None:
    assert around_the_port(code)


def around_the_port(code: str) -> list[str]:
    """What looks like the file system, other than ``disk().something(...)``."""
    found = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module]
            found += [f"import {name}" for name in names if name in MODULES]
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module, name = node.value.id, node.attr
            if (module == "os" and name not in OF_OS) or (module in {"pa", "pq"} and name in OF_ARROW):
                found.append(f"{module}.{name}")
        if isinstance(node, ast.Call) and _is_of_a_path(node):
            found.append(ast.unparse(node))
    return found


def _is_of_a_path(call: ast.Call) -> bool:
    function = call.func
    if isinstance(function, ast.Name):
        return function.id == "open"
    if not isinstance(function, ast.Attribute) or function.attr not in OF_PATHS:
        return False
    if ast.unparse(function.value) == "disk()":
        return False
    if function.attr == "replace":
        # That of a text has two arguments, and that of an index is our own.
        return len(call.args) == 1
    return not (function.attr == "open" and ast.unparse(function.value) in {"self.sink", "self._folder"})
