"""``skypane run``: settings from a file and from options, checked before Spark is started; a whole run; how it ends."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from rich.console import Console
from typer.testing import CliRunner

import skypane as sp
from skypane.api.options.declarations import OPTIONS, SECTIONS, option_at, options_of
from skypane.api.options.spelling import MOVED
from skypane.cli import app
from skypane.cli.init import sample, toml
from skypane.cli.reference import as_markdown
from skypane.cli.run import say_stages
from skypane.cli.run_flags import given_settings
from skypane.cli.run_query import plan
from skypane.cli.run_spec import load_spec
from skypane.model.errors import OptionError
from tests.support.marks import LONG

runner = CliRunner(env={"COLUMNS": "200", "NO_COLOR": "1"})
PAGE = Path(__file__).parents[2] / "docs" / "command-line.md"

COMPLETE = """
[source]
format = "skypane-traffic"
options = {records = 4000, rate = 2000, attributes = 2, keys = 2, seed = 5}
[query]
type = "skyline"
time = "ts"
key = ["key"]
window = "1 second"
minimize = ["a0", "a1"]
[sink]
path = "out"
[run]
checkpoint = "checkpoint"
available_now = true
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr("skypane.spark.session.embedded_session", refuse)


def written(folder: Path, text: str) -> Path:
    path = folder / "query.toml"
    path.write_text(text)
    return path


def example(option: Any) -> object:
    return option.default if option.default is not None else option.kind.example


def test_every_declared_option_has_a_flag_and_its_help() -> None:
    text = runner.invoke(app, ["run", "--help"]).output
    for option in OPTIONS:
        if option.command:
            assert re.search(rf"{option.command}\s", text), option
            assert option.help.split(".")[0][:40] in text
        else:
            assert f"--{option.section} " in text  # FORMAT:PATH
    assert [line for line in text.splitlines() if "<bool>" in line and "--help" not in line] == []  # nor a value


def test_help_is_whole_on_a_narrow_terminal() -> None:
    text = runner.invoke(app, ["run", "--help"], env={"COLUMNS": "80"}).output
    assert "…" not in text
    for section, words in SECTIONS.items():
        assert f"[{section}]: {words} ─" in text
    for option in OPTIONS:
        assert not option.command or option.command in text


@pytest.mark.parametrize(("flags", "wanted"), [([], None), (["--flush"], True), (["--no-flush"], False)])
def test_a_switch_can_be_turned_off(flags: list[str], wanted: bool | None, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def note(_: object, given: Mapping[str, Any]) -> None:
        seen.append(given["run"].get("flush"))
        raise OptionError("enough")

    monkeypatch.setattr("skypane.cli.run.load_spec", note)
    assert "enough" in runner.invoke(app, ["run", *flags]).output
    assert seen == [wanted]


@pytest.mark.parametrize("section", SECTIONS)
def test_every_declared_option_is_a_setting_of_the_file(section: str, folder: Path) -> None:
    settings = {option.name: example(option) for option in options_of(section)}
    path = written(folder, f"[{section}]\n" + "\n".join(f"{name} = {toml(value)}" for name, value in settings.items()))
    assert load_spec(path, {})[section] == settings


def test_the_command_line_says_the_same_as_a_file() -> None:
    flags = {
        "query_key": ["a", "b"],
        "query_delta": "1_000",
        "query_aggregate": ["n=count", "p = mean(price)", "q=max_by(a, if(b = 1, c, d))"],
        "lateness_guard_max_future": "none",
        "lateness_target": "5 %",
        "parallel_tuning_inline_rows": "7",
        "run_flush": False,
        "run_name": "best",
        "late_format": "parquet:some/where",
        "late_options": ["x=1"],
        "sink_format": "console",
    }
    given = given_settings(flags)
    assert {section: settings for section, settings in given.items() if settings} == {
        "query": {
            "key": ["a", "b"],
            "delta": 1000,
            "aggregate": {"n": "count", "p": "mean(price)", "q": "max_by(a, if(b = 1, c, d))"},
        },
        "lateness": {"target": 0.05},
        "lateness.guard": {"max_future": None},
        "parallel.tuning": {"inline_rows": 7},
        "run": {"flush": False, "name": "best"},
        "late": {"format": "parquet", "path": "some/where", "options": {"x": "1"}},
        "sink": {"format": "console"},
    }


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", ["parquet", "Parquet", "org.apache.spark.sql.parquet"])
def test_a_format_is_the_same_however_it_is_written(name: str, folder: Path) -> None:
    spec = load_spec(written(folder, COMPLETE), given_settings({"sink_format": f"{name}:out"}))
    assert isinstance(plan(spec).run.sink, sp.ParquetSink)
    spec = load_spec(written(folder, COMPLETE.replace("[sink]", f'[sink]\nformat = "{name}"')), given_settings({}))
    assert isinstance(plan(spec).run.sink, sp.ParquetSink)


@pytest.mark.parametrize(
    ("text", "policy"),
    [
        ("kslack", sp.KSlack()),
        ("kslack:1 minute", sp.KSlack(max_slack="1 minute")),
        ("fixed_delay: 5s", sp.FixedDelay("5s")),
        ("drop_ratio:1%", sp.DropRatio(0.01)),
        ("harm:0.001", sp.Harm(0.001)),
    ],
)
def test_a_policy_on_the_command_line_replaces_that_of_the_file(text: str, policy: object, folder: Path) -> None:
    path = written(folder, f"{COMPLETE}[lateness]\npolicy = 'harm'\ntarget = 0.5\nallowed = '3 s'\n")
    spec = load_spec(path, given_settings({"lateness_policy": text, "sink_format": "discard"}))
    assert spec["lateness"].pop("allowed") == "3 s"
    assert spec["sink"] == {"format": "discard"}
    assert plan(spec).query.lateness_options.policy == policy


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[sauce]\nformat = 'rate'", r"unknown section \[sauce\]. Did you mean 'source'\? The sections are: s"),
        ("[lateness]\npolicy = '10 seconds'", r"write policy = 'fixed_delay' and delay = '10 seconds'"),
        ("source = 3", r"source must be a section, written \[source\]"),
        ("[source]\nformt = 'x'", r"unknown setting 'formt' in \[source\]. Did you mean 'format'\?"),
        ("[query]\nwindow = 'soon'", r"\[query\]: window='soon' is not a duration"),
        ("[query]\nwindow = 5", r"\[query\]: window=5 must be a duration; durations are text such as"),
        ("[query]\ntype = 'best'", r"type='best' is unknown; it must be one of skyline, top_delta, top_k, aggregate"),
        ("[query]\nkey = [1]", r"key=\[1\] must be a name or a list of names"),
        ("[query]\naggregate = {n = 1}", r"aggregate=\{'n': 1\} must be a table"),
        ("[lateness]\ntarget = 5", r"\[lateness\]: target=5 must be a share between 0 and 1"),
        (
            "[parallel.tuning]\npane_degree = 0",
            r"\[parallel.tuning\]: pane_degree=0 must be a whole number from 1 to 10000",
        ),
        ("[run]\nflush = 'yes'", r"\[run\]: flush='yes' must be true or false"),
        ("[run]\ntrigger = 'none'", r"trigger='none' is not a duration"),
        (
            "[run]\nslide_strategy = 'tiles'",
            r"slide_strategy has moved from \[run\]: write sliding = ... in \[parallel.tuning\]",
        ),
        ("[run]\nemit = 'changes'", r"emit has moved from \[run\]: write emit = ... in \[query\]"),
        (
            "[parallel]\nsplitting = 'adaptive'",
            r"moved from \[parallel\]: write splitting = ... in \[parallel.tuning\]",
        ),
        ("[lateness]\nfuture_support = 3", r"moved from \[lateness\]: write support = ... in \[lateness.guard\]"),
        ("[lateness]\npartition_timeout = '1 s'", r"moved from \[lateness\]: write timeout = ... in \[partition\]"),
        ("[lateness]\nguard = 3", r"lateness.guard must be a section, written \[lateness.guard\]"),
        (
            "[parallel.tunning]\nsplitting = 'adaptive'",
            r"unknown setting 'tunning' in \[parallel\]. Did you mean \[parallel.tuning\]",
        ),
        ("[run]\nallowed_lateness = '1 s'", r"moved from \[run\]: write allowed = ... in \[lateness\]"),
        ("[run", r"The file .*query.toml cannot be read"),
    ],
)
def test_mistakes_in_a_file_are_named(text: str, message: str, folder: Path) -> None:
    with pytest.raises(OptionError, match=message):
        load_spec(written(folder, text), {})


def test_what_has_moved_from_the_run_section_is_declared_there() -> None:
    for old, new in MOVED.items():
        section, _, name = old.rpartition(".")
        assert section in SECTIONS
        assert name not in {option.name for option in options_of(section)}
        assert option_at(new).path == new


@pytest.mark.usefixtures("no_spark")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["missing.toml"], ["no file missing.toml", "skypane init"]),
        (["--window", "soon"], ["--window='soon' is not a duration"]),
        (["--idle-timeout", "0 s"], ["--idle-timeout='0 s' must be longer than zero"]),
        (["--lateness", "drop_ratio:few"], ["--lateness drop_ratio:few", "target='few'", "1%"]),
        (["--lateness", "patient"], ["--lateness='patient' is unknown", "kslack, fixed_delay"]),
        (["--lateness", "harm"], ["'harm' with no settings", "missing", "target"]),
        (["--delay", "1 s"], ["'kslack' with delay='1 s'", "unexpected setting 'delay'"]),
        (["--pane-degree", "many"], ["--pane-degree='many' must be a whole number from 1"]),
        (["--elastic", "--degree", "2"], ["elastic decides the degrees itself", "max_degree"]),
        (["--max-degree", "2"], ["max_degree: needs elastic = true"]),
        (["--elastic", "--min-degree", "3", "--max-degree", "2"], ["max_degree=2 is less than min_degree=3"]),
        (["--elastic", "--controller", "pid"], ["--controller='pid' is unknown", "fuzzy, threshold, ds2"]),
        (["--source-option", "oops"], ["--source-option 'oops' must be written name=value"]),
        (["--source-option", "rate=fast"], ["rate='fast'", "a number from"]),
        (["--source-option", "sped=1"], ["unknown option 'sped'", "did you mean"]),
        (["--time", "when"], ["Time column 'when' is not a column", "ts"]),
        (["--key", "town"], ["Key 'town' is not a column"]),
        (["--minimize", "price"], ["price", "a0"]),
        (["--k", "3"], ["type skyline does not take k", "minimize, maximize"]),
        (["--type", "top_delta"], ["type top_delta needs delta: give --delta NUMBER, or delta = ..."]),
        (["--lateness", "10 sekonds"], ["--lateness fixed_delay:10 sekonds: delay='10 sekonds': unknown unit"]),
        (["--sink", "/tmp/out"], ["that is a path. Write --sink parquet:/tmp/out"]),
        (["--minimize", "a00"], ["Attribute 'a00' is not a column. Did you mean 'a0'?"]),
        (["--across", "max"], ["across: needs partition = ... in [query] (--partition)"]),
        (["--emit", "changes", "--allowed-lateness", "1 s"], ["lateness(allowed=...)", ".emit('full')"]),
        (["--sliding", "fast"], ["--sliding='fast' is unknown", "auto, critical"]),
        (["--sink", "parquet"], ["needs a path", "--sink parquet:FOLDER"]),
        (["--sink", "console", "--sink-option", "a=b"], ["format console takes no options"]),
        (["--sink", "parquet:s3://bucket/x"], ["s3://"]),
        (["--checkpoint", "query.toml/c"], ["checkpoint: the folder", "query.toml is a file"]),
        (["--sink", "parquet:query.toml"], ["sink: the folder", "query.toml is a file"]),
        (["--log", "query.toml/spark.log"], ["--log: the folder", "query.toml is a file"]),
        (["--checkpoint", "~nosuchuser/x"], ["there is no such user"]),
        (["--checkpoint", "a" * 300], ["is no name that a folder can have"]),
        (["--checkpoint", "hdfs://a/b"], ["hdfs://"]),
        (["--sink", "csv:x", "--sink-option", "path=y"], ["[sink] options has 'path'"]),
        (["--sink", ":x"], ["has no format"]),
        (["--sink", "Parquet"], ["needs a path", "--sink parquet:FOLDER"]),
        (["--sink", "CONSOLE", "--sink-option", "a=b"], ["format console takes no options"]),
        (["--sink", "parquet:x", "--sink-column", "a"], ["format parquet takes no columns"]),
        (["--sink", "Json:query.toml"], ["sink: the folder", "query.toml is a file"]),
        (["--source", "Skypane-Traffic", "--source-option", "sped=1"], ["unknown option 'sped'", "did you mean"]),
    ],
)
def test_mistakes_are_told_before_spark_is_started(arguments: list[str], words: list[str], folder: Path) -> None:
    written(folder, COMPLETE)
    files = [] if "missing.toml" in arguments else ["query.toml"]
    result = runner.invoke(app, ["run", *files, *arguments])
    assert result.exit_code == 2, result.output
    for word in words:
        assert word in result.output


@pytest.mark.usefixtures("no_spark", "folder")
@pytest.mark.parametrize("missing", [option for option in OPTIONS if option.needed], ids=lambda option: option.name)
def test_what_is_missing_is_said_with_both_ways_to_give_it(missing: Any) -> None:
    given = {"--source": "rate", "--type": "skyline", "--time": "ts", "--window": "1 s"}
    given.pop(missing.command)
    result = runner.invoke(app, ["run", *(word for pair in given.items() for word in pair)])
    assert result.exit_code == 2
    assert f"give {missing.command} {missing.kind.metavar}" in result.output
    assert f"{missing.name} = ... in [{missing.section}] of the file" in result.output


@pytest.mark.usefixtures("no_spark")
@pytest.mark.parametrize(
    ("windows", "options", "words"),
    [
        ("", [], "window of the query is missing: give --window DURATION, --window-rows NUMBER"),
        ("window = '1 s'\nwindow_rows = 5", [], "window of the query is there twice"),
        ("window = '1 s'\nslide_rows = 5", [], "window does not take slide_rows; it takes slide"),
        ("window_rows = 5\nslide = '1 s'", [], "window_rows does not take slide; it takes slide_rows, ttl"),
        ("window_rows = 0", [], "window_rows=0 must be a whole number from 1"),
        ("window_rows = 5", ["--ttl", "soon"], "--ttl='soon' is not a duration"),
        ("window_rows = 5", ["--allowed-lateness", "1 s"], "does not go with window_rows: a late record would shift"),
    ],
)
def test_windows_that_cannot_be_meant(folder: Path, windows: str, options: list[str], words: str) -> None:
    written(folder, COMPLETE.replace('window = "1 second"', windows))
    result = runner.invoke(app, ["run", "query.toml", *options], env={"COLUMNS": "1000"})
    assert result.exit_code == 2, result.output
    assert words in " ".join(result.output.split())


def test_elastic_degrees_from_a_file_and_options(folder: Path) -> None:
    path = written(folder, f"{COMPLETE}[parallel]\nelastic = true\nmax_degree = 9\ncontroller = 'ds2'\n")
    given = given_settings({"parallel_max_degree": "12", "parallel_period": "1 s"})
    chosen = plan(load_spec(path, {"parallel": given["parallel"]})).query.parallel_options
    assert chosen.elastic == sp.Elastic(max_degree=12, controller="ds2", period="1 s")
    off = given_settings({"parallel_elastic_off": True})
    assert plan(load_spec(path, {"parallel": off["parallel"]})).query.parallel_options.elastic is False


def test_whoever_says_how_many_tasks_replaces_who_said_it_in_the_file(folder: Path) -> None:
    """Degrees that follow the load, fixed ones, a tree of patterns: each says it instead of the others."""

    def chosen(said: str, **options: Any) -> Any:
        path = written(folder, f"{COMPLETE}[parallel]\n{said}\n")
        given = given_settings({f"parallel_{name}": value for name, value in options.items()})
        return plan(load_spec(path, {"parallel": given["parallel"]})).query.parallel_options

    fixed, elastic, tree = "degree = 2\ntuning.pane_degree = 3", "elastic = true\nmax_degree = 9", "pattern = 'KF(2)'"
    for said in (fixed, tree):
        found = chosen(said, elastic=True)
        assert (found.elastic, found.degree, found.tuning.pane_degree) == (sp.Elastic(), None, None)
        assert found.tree is None
    for said in (elastic, tree):
        found = chosen(said, degree="4")
        assert (found.elastic, found.degree, found.tree) == (False, 4, None)
    for said in (elastic, fixed):
        assert str(chosen(said, pattern="KF(3)").tree) == "KF(3)"
    assert chosen(fixed, degree="4").tuning.pane_degree == 3
    with pytest.raises(sp.OptionError, match="elastic decides the degrees itself"):
        chosen("max_latency = '1 s'", elastic=True, degree="4")


def test_windows_of_records_replace_those_of_the_file(folder: Path) -> None:
    path = written(folder, COMPLETE.replace('window = "1 second"', 'window = "1 second"\nslide = "500 ms"'))
    given = given_settings({"query_window_rows": "1000", "query_slide_rows": "100", "query_ttl": "1 day"})
    chosen = plan(load_spec(path, {"query": given["query"]})).query.spec
    assert str(chosen) == "sliding windows of 1,000 records every 100"
    assert chosen.explain().startswith("10 panes of 100 records each, ")
    assert chosen.explain().endswith("; a key is forgotten after 1 d")


def test_the_sample_is_complete_valid_and_left_alone(folder: Path) -> None:
    assert "Wrote query.toml" in runner.invoke(app, ["init"]).output
    text = (folder / "query.toml").read_text()
    for section in SECTIONS:
        part = text[text.index(f"[{section}]") :].split("\n\n")[0]
        assert [option.name for option in options_of(section) if f"{option.name} = " in part] == [
            option.name for option in options_of(section)
        ]
    plan(load_spec(folder / "query.toml", {}))
    again = runner.invoke(app, ["init", "query.toml"])
    assert again.exit_code == 2
    assert "query.toml is already there" in again.output
    assert runner.invoke(app, ["init", "no/such/folder.toml"]).exit_code == 2
    # Every line that is commented out is a setting that can be had by taking the # away.
    for section in SECTIONS:
        part = text[text.index(f"[{section}]") :].split("\n\n")[0]
        lines = [line.removeprefix("# ") for line in part.splitlines()]
        load_spec(written(folder, "\n".join(lines)), {})


def test_the_documentation_lists_every_option_as_it_is() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert as_markdown() in page, "paste skypane.cli.reference.as_markdown()"
    assert sample().split("\n\n")[1] in page, "paste the first section of skypane.cli.init.sample()"


def environment() -> dict[str, str]:
    return {**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}


def command(*arguments: str) -> list[str]:
    return [str(Path(sys.executable).with_name("skypane")), "run", *arguments]


@pytest.mark.spark
@pytest.mark.parametrize(
    ("source", "words"),
    [
        ({"source": "skypane-trafic"}, "The source 'skypane-trafic' cannot be read: .*skypane-trafic"),
        (
            {"source": "parquet", "path": "in", "schema": "ts timestump"},
            "The source 'parquet' cannot be read: .*TIMESTUMP",
        ),
        ({"source": "skypane-replay", "path": "in.csv"}, "in.csv"),
    ],
    ids=lambda value: value["source"] if isinstance(value, dict) else "",
)
def test_a_source_that_spark_does_not_know(spark: SparkSession, source: dict[str, str], words: str) -> None:
    given = {
        "source_format": source["source"],
        "source_path": source.get("path"),
        "source_schema": source.get("schema"),
    }
    asked = {"query_type": "top_k", "query_k": "1", "query_score": "a", "query_time": "ts", "query_window": "1 s"}
    planned = plan(given_settings({**given, **asked}))
    with pytest.raises(sp.SkypaneError, match=words):
        planned.over_records(spark)


@pytest.mark.spark
def test_a_query_that_fails_its_check_is_not_called_checked(
    spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "in").mkdir()
    monkeypatch.setattr("skypane.cli.run.embedded", lambda *_: nullcontext(spark))
    source = ["--source", "json", "--path", str(folder / "in"), "--schema", "ts timestamp, offer struct<price: double>"]
    asked = ["--type", "skyline", "--time", "ts", "--window", "1 s", "--minimize", "offer.price"]
    said = runner.invoke(app, ["run", "--check", *source, *asked]).output
    assert "Attribute 'offer.price' is not a column" in said
    assert "Checked against the source" not in said


@pytest.mark.spark
def test_limits_that_cannot_be_kept_fail_the_check(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skypane.cli.run.embedded", lambda *_: nullcontext(spark))
    asked = ["--type", "skyline", "--time", "ts", "--window", "1 s", "--minimize", "a0", "--elastic"]
    said = runner.invoke(app, ["run", "--check", "--source", "skypane-traffic", *asked, "--min-degree", "50"])
    assert said.exit_code == 2
    assert "min_degree=50 is more than the 2 tasks that Spark can run here at a time" in said.output


@pytest.mark.spark
def test_rows_that_a_format_cannot_store_fail_the_check(
    spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skypane.cli.run.embedded", lambda *_: nullcontext(spark))
    written(folder, COMPLETE.replace("[sink]", '[sink]\nformat = "CSV"'))
    said = runner.invoke(app, ["run", "--check", "query.toml"], env={"COLUMNS": "1000"})
    assert said.exit_code == 2
    assert "cannot store the column 'window'" in said.output
    assert "Checked against the source" not in said.output
    columns = ["--sink-column", "key", "--sink-column", "window.start AS window_start"]
    said = runner.invoke(app, ["run", "--check", "query.toml", *columns])
    assert said.exit_code == 0, said.output
    written(folder, COMPLETE.replace("[sink]", '[sink]\nformat = "CSV"\ncolumns = ["key", "window.start AS w", "a0"]'))
    said = runner.invoke(app, ["run", "--check", "query.toml"])
    assert said.exit_code == 0, said.output
    assert not (folder / "out").exists()
    said = runner.invoke(app, ["run", "--check", "query.toml", "--sink", "nosuch:out"])
    assert said.exit_code == 2
    assert "nosuch" in said.output


def test_stages_stay_in_their_column_on_a_narrow_terminal() -> None:
    text = io.StringIO()
    console = Console(file=text, width=40, force_terminal=True, color_system=None)
    say_stages(console, "key           city\nresults       Parquet files in /a/folder of which the name is long")
    assert text.getvalue().splitlines() == [
        "key           city",
        "results       Parquet files in /a/folder",
        "              of which the name is long",
    ]


@pytest.mark.spark
def test_run_a_query_from_a_file_and_options(folder: Path) -> None:
    written(folder, COMPLETE)
    options = ["--slide", "500 milliseconds", "--splitting", "adaptive", "--pane-degree", "3"]
    options += ["--window-scheduling", "feedback", "--inline-rows", "9", "--future-support", "4", "--name", "best"]
    run = command("query.toml", *options)
    checked = subprocess.run(
        [*run, "--check"], check=False, capture_output=True, text=True, env=environment(), timeout=400
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert checked.stdout.startswith("Checked without Spark: ")
    assert "Nothing was started" in checked.stdout
    assert not (folder / "out").exists()
    assert not (folder / "checkpoint").exists()
    done = subprocess.run(run, check=False, capture_output=True, text=True, env=environment(), timeout=400)
    assert done.returncode == 0, done.stdout + done.stderr
    for words in (
        "sliding windows of 1 s every 500 ms",
        "3 tasks, routed by adaptive",
        "in the driver below 9 rows",
        "and fewer than 4",
    ):
        assert words in checked.stdout
        assert words in done.stdout
    assert "4,000 accepted, 0 late, 0 quarantined" in done.stdout
    assert "shards per pane" in done.stdout
    assert "WARN" not in done.stdout + done.stderr  # Spark keeps quiet on the terminal
    assert pq.read_table(folder / "out").num_rows > 10


@pytest.mark.spark
@pytest.mark.parametrize("number", [signal.SIGINT, LONG(signal.SIGTERM)], ids=lambda number: number.name)
def test_a_signal_to_all_its_processes_ends_it_after_the_step_under_way(number: signal.Signals, folder: Path) -> None:
    written(folder, COMPLETE.replace("records = 4000", "records = 100000000").replace("available_now = true", ""))
    log = folder / "said"
    with log.open("w") as said:
        process = subprocess.Popen(
            command("query.toml", "--trigger", "0 s"),
            stdout=said,
            stderr=said,
            env=environment(),
            start_new_session=True,
        )
        try:
            while process.poll() is None and len(list(folder.glob("checkpoint/manifests/*.json"))) < 1:
                time.sleep(0.1)
            os.killpg(process.pid, number)
            assert process.wait(300) == 0, log.read_text()
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    text = log.read_text()
    assert "Stopping after the step that is under way" in text
    assert "Traceback" not in text
    assert len(text.splitlines()) < 60
    assert list((folder / "checkpoint" / "scratch").iterdir()) == []


@pytest.mark.spark
@pytest.mark.parametrize("number", [LONG(signal.SIGINT), signal.SIGTERM], ids=lambda number: number.name)
def test_a_signal_while_spark_starts_is_not_lost(number: signal.Signals, folder: Path) -> None:
    written(folder, COMPLETE.replace("records = 4000", "records = 100000000").replace("available_now = true", ""))
    process = subprocess.Popen(
        command("query.toml"),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment(),
        text=True,
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        assert "Starting embedded Spark" in process.stdout.readline()
        os.killpg(process.pid, number)
        # To its end, so that no JVM is left behind, which would keep it open.
        assert process.stdout.read() == "Stopped before the query was started.\n"
        assert process.wait(300) == 0
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    assert not (folder / "checkpoint").exists()
