"""``skypane simulate`` as a user meets it: a command of skypane wherever the lab is installed."""

from __future__ import annotations

from importlib.metadata import requires, version
from pathlib import Path

import pytest
from typer.testing import CliRunner

from skypane.cli import app
from skypane.cli.plugins import load_simulator
from skypane_lab.trees.learned import simulated_step_us

runner = CliRunner(env={"COLUMNS": "200", "NO_COLOR": "1"})


def said(*arguments: str, code: int = 0) -> str:
    result = runner.invoke(app, list(arguments))
    assert result.exit_code == code, result.output
    return result.output


def test_help_lists_the_command_and_its_options() -> None:
    assert " simulate " in said("--help")
    text = said("simulate", "--help")
    assert "simulate [OPTIONS]" in text
    assert text.count(" --") > 10


def test_explore_finds_the_simulator() -> None:
    assert load_simulator() is simulated_step_us


def test_the_lab_is_for_one_version_of_skypane() -> None:
    pinned = [found for found in requires("skypane-lab") or () if found.startswith("skypane[")]
    assert pinned == [f"skypane[plots]=={version('skypane-lab')}"]
    assert version("skypane") == version("skypane-lab")


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
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
def test_errors_name_the_option_and_the_remedy(
    arguments: list[str], names: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = said(*arguments, code=2)
    for name in names:
        assert name in text
    assert "Traceback" not in text


@pytest.mark.parametrize("arguments", [["--figure", "14", "--output"], ["--calibrate"]])
def test_a_folder_that_cannot_be_made_is_refused_before_the_work(arguments: list[str], tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("")
    text = said("simulate", *arguments, str(taken / "folder" / "file"), code=2)
    assert text.startswith(f"error: {arguments[-1]}: the folder {taken}")
    assert "is a file" in text


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
