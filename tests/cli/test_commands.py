"""The command line as a user meets it: help, errors that name the option, files in and out, a whole run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from skypane.cli import app

runner = CliRunner(env={"COLUMNS": "200", "NO_COLOR": "1"})

COUNT = ["--source", "skypane-traffic", "--time", "ts", "--window=1s", "--type", "aggregate", "--aggregate", "n=count"]


def said(*arguments: str, code: int = 0) -> str:
    result = runner.invoke(app, list(arguments))
    assert result.exit_code == code, result.output
    return result.output


@pytest.mark.parametrize("command", ["demo", "init", "run", "generate", "inspect", "lateness"])
def test_help_of_every_command_has_a_summary_and_options(command: str) -> None:
    text = said(command, "--help")
    usage, _, rest = text.partition("[OPTIONS]")
    assert usage.split()[-1] == command
    summary = rest.split("╭─")[0].strip().splitlines()[-1]
    assert len(summary.split()) > 3
    assert rest.count(" --") > 1 or command == "init"


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
    narrow = runner.invoke(app, ["lateness", str(path), "--targets", "5"], env={"COLUMNS": "80"}).output
    assert "…" not in narrow
    assert max(map(len, narrow.splitlines())) <= 80
    for figure in re.findall(r"\d[\d,.]*%?", text[text.index("K-slack, in order") :].splitlines()[0]):
        assert figure in narrow


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["generate", "out.txt", "--records", "5"], ["out.txt", ".parquet"]),
        (["generate", "out.parquet", "--records", "5", "--dispersion", "0.1"], ["dispersion", "1 to 10000"]),
        (["inspect", "missing.parquet"], ["missing.parquet", "does not exist"]),
        (["run", "missing.toml"], ["missing.toml"]),
        (["run", *COUNT, "--key", "key"], ["Key 'key' is not a column", "--source-option keys=4"]),
        (["lateness"], ["either a file or --generate"]),
        (["lateness", "missing.parquet"], ["missing.parquet", "does not exist"]),
        (["lateness", "--generate", "--records", "50", "--targets", "0"], ["targets", "above 0 and below 100"]),
        (["lateness", "--generate", "--records", "50", "--minimize", "price"], ["price", "a0"]),
        (["explore", "--simulate", "1"], ["--simulate", "2 to 256"]),
        (
            ["explore", *COUNT, "--elastic", "--max-degree", "2", "--tree", "PF(2,2)"],
            ["Without elastic here: every tree has fixed degrees", "PF(2,2)"],
        ),
        (
            ["explore", *COUNT, "--degree", "3", "--partitioning", "pane"],
            ["explore tries every pattern itself. Leave out degree=3, partitioning='pane'."],
        ),
        (["explore", *COUNT, "--tree", "KF(2)", "--tree", "PF(2,2)"], ["PF(2,2)", "WinMapReduce"]),
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


@pytest.mark.parametrize(
    "arguments",
    [
        ["inspect", "--generate", "--records", "1000", "--plots"],
        ["lateness", "--generate", "--records", "1000", "--plot"],
    ],
)
def test_a_folder_that_cannot_be_made_is_refused_before_the_work(arguments: list[str], tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("")
    text = said(*arguments, str(taken / "folder" / "file"), code=2)
    assert text.startswith(f"error: {arguments[-1]}: the folder {taken}")
    assert "is a file" in text


@pytest.mark.parametrize(
    "command", ["demo --seconds 5", "run --source x --type skyline --time t --window 1s --minimize a"]
)
def test_without_spark_a_command_says_what_to_install(command: str, tmp_path: Path) -> None:
    """In a process that cannot import it."""
    program = "import sys; sys.modules['pyspark'] = None\nfrom skypane.cli import app\napp()"
    line = [sys.executable, "-c", program, *command.split()]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False)
    name = command.split(maxsplit=1)[0]
    assert done.returncode == 2
    assert done.stderr == f"error: skypane {name} needs Spark. Install it with: pip install 'skypane[spark]'\n"


def test_without_spark_the_other_commands_work(tmp_path: Path) -> None:
    program = "import sys; sys.modules['pyspark'] = None\nfrom skypane.cli import app\napp()"
    line = [sys.executable, "-c", program, "init", "query.toml"]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "Wrote query.toml" in done.stdout
