"""TOML files: whatever is in one, the query is planned, or the file, the section or the setting is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from skypane.api.options.declarations import OPTIONS, SECTIONS
from skypane.cli import app
from skypane.cli.init import init
from skypane.cli.run_query import plan
from skypane.cli.run_spec import load_spec
from skypane.model.errors import SkypaneError

SMALL = """
[source]
format = "skypane-traffic"
[query]
type = "skyline"
time = "ts"
window = "1 second"
minimize = "a0"
[sink]
format = "discard"
"""
WORDS = [
    *("none", "auto", "1 second", "0 s", "", "parquet", "console", "delta", "skyline", "top_k", "aggregate", "harm"),
    *(
        "drop_ratio",
        "fixed_delay",
        "combine",
        "critical",
        "tiles",
        "in_order",
        "changes",
        "max",
        "ts",
        "a0",
        "no\0where",
    ),
    *("file:///", "s3://x", "/dev/null/x", "mean(a0)", "a" * 300),
]
values: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from(WORDS),
    st.text(max_size=8),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.booleans(),
    st.just([]),
    st.lists(st.one_of(st.sampled_from(WORDS), st.integers(-3, 3)), max_size=3),
    st.dictionaries(st.sampled_from(["n", "price", "window", "seed", ""]), st.sampled_from(WORDS), max_size=2),
    st.dates(),
)
names = st.sampled_from([(option.section, option.name) for option in OPTIONS])
changes = st.lists(st.tuples(names, values), min_size=1, max_size=3)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes)
@example([(("query", "window"), "1" * 5_000 + " s")])
@example([(("sink", "format"), "parquet"), (("sink", "path"), "no\0where")])
@example([(("sink", "format"), "parquet"), (("sink", "path"), "a" * 300)])
@example([(("run", "checkpoint"), "no\0where")])
@example([(("source", "options"), {"seed": "x"})])
def test_any_value_of_any_setting_is_planned_or_refused(
    tmp_path: Path, changed: list[tuple[tuple[str, str], Any]]
) -> None:
    spec = load_spec(None, _sections(changed))
    path = tmp_path / "query.toml"
    path.write_text(_toml(spec), encoding="utf-8")
    refused_or_planned(path)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 10**6), st.binary(min_size=0, max_size=3), st.integers(0, 4))
def test_any_bytes_in_place_of_others_are_planned_or_refused(tmp_path: Path, where: int, put: bytes, cut: int) -> None:
    data = SMALL.encode()
    place = where % len(data)
    path = tmp_path / "query.toml"
    path.write_bytes(data[:place] + put + data[place + cut :])
    refused_or_planned(path)


def refused_or_planned(path: Path) -> None:
    try:
        plan(load_spec(path, {}))
    except SkypaneError as error:
        refusal = str(error)
    else:
        return
    named = [str(path), *SECTIONS, *(option.name for option in OPTIONS), "Sink(", "query", "olumn", "option "]
    assert any(name in refusal for name in named), refusal


def test_the_command_says_what_is_wrong_and_no_more(tmp_path: Path) -> None:
    path = tmp_path / "query.toml"
    path.write_text(SMALL.replace("1 second", "1 parsec"))
    result = CliRunner().invoke(app, ["run", "--check", str(path)])
    assert result.exit_code
    assert "parsec" in result.output
    assert "Traceback" not in result.output


@pytest.mark.parametrize("cut", range(0, 2_000, 97))
def test_a_sample_that_was_cut_off_is_planned_or_refused(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "query.toml"
    init(path)
    path.write_text(path.read_text()[:cut])
    refused_or_planned(path)


def _sections(changed: list[tuple[tuple[str, str], Any]]) -> dict[str, dict[str, Any]]:
    chosen: dict[str, dict[str, Any]] = {
        "source": {"format": "skypane-traffic"},
        "query": {"type": "skyline", "time": "ts", "window": "1 second", "minimize": "a0"},
        "sink": {"format": "discard"},
    }
    for (section, name), value in changed:
        chosen.setdefault(section, {})[name] = value
    return chosen


def _toml(spec: dict[str, dict[str, Any]]) -> str:
    lines = []
    for section, chosen in spec.items():
        if chosen:
            lines += [f"[{section}]", *(f"{name} = {_value(value)}" for name, value in chosen.items())]
    return "\n".join(lines)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return '"' + "".join(f"\\U{ord(sign):08x}" for sign in value) + '"'
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_value(name)} = {_value(one)}" for name, one in value.items()) + "}"
    return str(value)
