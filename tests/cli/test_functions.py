"""Functions over windows from the command line: by module and name, checked before Spark is started."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from skypane.cli.run_flags import given_settings
from skypane.cli.run_query import Planned, plan
from skypane.cli.run_spec import load_spec
from skypane.model.errors import OptionError
from tests.support import functions as samples

FILE = """
[source]
format = "skypane-traffic"
options = {keys = 2}
[query]
type = "apply"
time = "ts"
key = "key"
window = "1 second"
function = "tests.support.functions:bounds"
schema = "first long, last long, rows long"
[failed]
path = "failed"
[run]
accept_changed_code = true
"""


def planned(tmp_path: Path, text: str = FILE, **flags: Any) -> Planned:
    (tmp_path / "query.toml").write_text(text)
    return plan(load_spec(tmp_path / "query.toml", given_settings(flags)))


def test_a_function_from_a_file(tmp_path: Path) -> None:
    found = planned(tmp_path)
    assert found.query.question.describe() == samples.QUERIES["bounds"].describe()
    assert found.run.accept_changed_code
    assert found.run.failed is not None
    definition, options = found.query.plan(found.run, slots=1)
    assert definition.sets_aside
    assert options.accept_changed_code


def test_a_fold_from_options(tmp_path: Path) -> None:
    text = FILE.replace('schema = "first long, last long, rows long"\n', "")
    found = planned(tmp_path, text, query_type="fold", query_function="tests.support.functions:MOMENTS")
    assert found.query.question.describe() == samples.QUERIES["moments"].describe()
    assert "a window merges the states of its panes" in found.query.question.explain()


def test_what_is_no_fold_is_told_as_it_was_named(tmp_path: Path) -> None:
    text = FILE.replace('schema = "first long, last long, rows long"\n', "")
    with pytest.raises(OptionError, match=r"function='tests.support.functions:bounds' is no fold: it has no init"):
        planned(tmp_path, text, query_type="fold")


def test_a_function_in_the_folder_one_is_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "found_here.py").write_text("def f(records):\n    return []\n")
    monkeypatch.chdir(tmp_path)
    found = planned(tmp_path, query_function="found_here:f")
    assert "found_here:f#" in str(found.query.question.describe())


@pytest.mark.parametrize(
    ("module", "text", "said"),
    [
        ("broken_0", "def f(:\n", r"cannot be imported: invalid syntax \(broken_0.py, line 1\)\.$"),
        (
            "broken_1",
            "x = 1\ny = x / 0\n",
            r"ZeroDivisionError: division by zero \(broken_1.py, line 2: y = x / 0\)\.$",
        ),
        ("broken_2", "import sys\nsys.exit(3)\n", r"SystemExit: 3 \(broken_2.py, line 2: sys.exit\(3\)\)\.$"),
        (
            "broken_3",
            "from os import nothing\n",
            r"ImportError: cannot import name 'nothing' from 'os'.*line 1: from os import ",
        ),
    ],
)
def test_a_module_that_fails_is_told_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, text: str, said: str
) -> None:
    (tmp_path / f"{module}.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OptionError, match=said):
        planned(tmp_path, query_function=f"{module}:f")


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ({"query_function": "bounds"}, "must be written module:name"),
        ({"query_function": "nowhere:f"}, "the module cannot be imported: No module named 'nowhere'"),
        ({"query_function": "./samples:f"}, "modules have names, not paths"),
        ({"query_function": "tests.support.functions:none"}, "tests.support.functions has no 'none'"),
        ({"query_function": "tests.support.functions:DIGEST"}, "must be a function"),
        ({"query_schema": "first lon"}, "'lon' is not a type"),
        ({"query_type": "fold"}, "A query of type fold does not take schema; it takes function"),
        ({"query_k": "3"}, "A query of type apply does not take k; it takes function, schema"),
    ],
)
def test_mistakes_are_told_without_spark(tmp_path: Path, flags: dict[str, str], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        planned(tmp_path, **flags)
