"""The command line as a user meets it: help, errors that name the option, files in and out, a whole run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from skypane.cli import app
from skypane.cli.run_spec import load_spec
from skypane.model.errors import OptionError

runner = CliRunner(env={"COLUMNS": "200", "NO_COLOR": "1"})


def said(*arguments: str, code: int = 0) -> str:
    result = runner.invoke(app, list(arguments))
    assert result.exit_code == code, result.output
    return result.output


@pytest.mark.parametrize("command", ["demo", "run", "generate", "inspect", "lateness", "simulate"])
def test_help_of_every_command_has_a_summary_and_options(command: str) -> None:
    text = said(command, "--help")
    assert "Usage: skypane" in text or "Usage: root" in text or f"{command} [OPTIONS]" in text
    assert "--" in text


def test_version() -> None:
    assert said("--version").startswith("skypane ")


def test_generate_then_inspect(tmp_path: Path) -> None:
    path = tmp_path / "bursts.parquet"
    text = said("generate", str(path), "--arrivals", "map", "--dispersion", "100", "--records", "20000", "--seed", "3")
    assert "20,000 records" in text
    assert pq.read_table(path).num_rows == 20_000
    assert "ispersion" in said("inspect", str(path))
    said("inspect", "--generate", "--records", "5000", "--plots", str(tmp_path / "plots"))
    assert len(list((tmp_path / "plots").glob("*.png"))) == 2


def test_lateness_compares_policies_on_a_file(tmp_path: Path) -> None:
    path, plot = tmp_path / "stream.parquet", tmp_path / "lateness.png"
    said("generate", str(path), "--rate", "2000", "--duration", "6 s", "--attributes", "2", "--seed", "3")
    text = said("lateness", str(path), "--targets", "5", "--fixed", "100 ms", "--plot", str(plot))
    for policy in ("K-slack", "fixed delay 100 ms", "drop ratio 5 %", "harm 5 %", "K-slack, in order"):
        assert policy in text
    assert plot.stat().st_size > 10_000


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["generate", "out.txt", "--records", "5"], ["out.txt", ".parquet"]),
        (["generate", "out.parquet", "--records", "5", "--dispersion", "0.1"], ["dispersion", "1 to 10000"]),
        (["inspect", "missing.parquet"], ["missing.parquet", "does not exist"]),
        (["run", "missing.toml"], ["missing.toml"]),
        (["run", "--lateness", "drop_ratio:few"], ["--lateness", "drop_ratio:1%"]),
        (["lateness"], ["either a file or --generate"]),
        (["lateness", "missing.parquet"], ["missing.parquet", "does not exist"]),
        (["lateness", "--generate", "--records", "50", "--targets", "0"], ["targets", "above 0 and below 100"]),
        (["lateness", "--generate", "--records", "50", "--minimize", "price"], ["price", "a0"]),
        (["run", "--source-option", "oops"], ["--source-option", "name=value"]),
        (["simulate", "--strategy", "best"], ["--strategy", "best", "pane_rr", "adaptive_pid"]),
        (["simulate", "--window-strategy", "best"], ["--window-strategy", "win_fb_merge"]),
        (["simulate", "--degree", "0-3"], ["--degree", "1 to 1000"]),
        (["simulate", "--degree", "many"], ["--degree", "'1-17'"]),
        (["simulate", "--dispersion", "0"], ["--dispersion", "1 to 10000"]),
        (["simulate", "--rate", "-5"], ["--rate", "1 to 1e+07"]),
        (["simulate", "--window-degree", "0"], ["--window-degree", "1 to 1000"]),
        (["simulate", "--duration", "1 s"], ["--duration", "3 to 36000"]),
        (["simulate", "--points", "round"], ["--points", "anticorrelated"]),
        (["simulate", "--machine", "missing.json"], ["--machine", "missing.json", "--calibrate"]),
        (["simulate", "--figure", "99"], ["--figure", "8a"]),
    ],
)
def test_errors_name_the_option_and_the_remedy(arguments: list[str], names: list[str], tmp_path: Path) -> None:
    before = Path.cwd()
    os.chdir(tmp_path)
    try:
        result = runner.invoke(app, arguments)
    finally:
        os.chdir(before)
    assert result.exit_code == 2
    for name in names:
        assert name in result.output
    assert "Traceback" not in result.output


def test_unknown_sections_and_settings_of_a_file_are_named(tmp_path: Path) -> None:
    path = tmp_path / "query.toml"
    path.write_text("[sauce]\nformat = 'rate'\n")
    with pytest.raises(OptionError, match=r"unknown section \[sauce\].*source, query"):
        load_spec(path, {})
    path.write_text("[query]\nwindw = '1 s'\n")
    with pytest.raises(OptionError, match=r"unknown setting 'windw' in \[query\].*window"):
        load_spec(path, {})
    path.write_text("[query]\nwindow = '1 s'\ntime = 'a'\n")
    assert load_spec(path, {"query": {"time": "b", "slide": None}})["query"] == {"window": "1 s", "time": "b"}


def test_simulate_a_stage_of_each_kind(tmp_path: Path) -> None:
    machine = tmp_path / "machine.json"
    assert "anticorrelated" in said("simulate", "--calibrate", str(machine))
    stream = ["--rate", "5000", "--duration", "9 s", "--degree", "2,3", "--machine", str(machine)]
    text = said("simulate", "--strategy", "combine", "--strategy", "tuple_rr", *stream, "--window-strategy", "win_fb")
    assert text.count("combine") == text.count("tuple_rr") == 2
    assert "3.00" in text  # tuple_rr with 3 workers makes 3 shards of every pane


def test_simulate_draws_a_figure(tmp_path: Path) -> None:
    text = said("simulate", "--figure", "14", "--output", str(tmp_path))
    assert "fig-14.png" in text
    assert (tmp_path / "fig-14.png").read_bytes()[:4] == b"\x89PNG"
    assert (tmp_path / "fig-14.md").read_text().count("|") > 20


@pytest.mark.spark
def test_run_a_query_from_a_file_and_options(tmp_path: Path) -> None:
    (tmp_path / "query.toml").write_text(
        """
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
    )
    command = [str(Path(sys.executable).with_name("skypane")), "run", "query.toml", "--slide", "500 milliseconds"]
    command += ["--splitting", "adaptive", "--pane-degree", "3", "--window-scheduling", "feedback"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=400)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "sliding windows of 1 s every 500 ms" in done.stdout
    assert "4,000 accepted, 0 late, 0 quarantined" in done.stdout
    assert "3 tasks, routed by adaptive" in done.stdout
    assert "shards per pane" in done.stdout
    assert "WARN" not in done.stdout + done.stderr  # Spark keeps quiet on the terminal
    assert pq.read_table(tmp_path / "out").num_rows > 10
