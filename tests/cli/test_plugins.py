"""Commands and a simulator of other distributions: found by entry points, imported when they are used."""

from __future__ import annotations

from importlib.metadata import EntryPoint, EntryPoints

import pytest
import typer
from typer.testing import CliRunner

from skypane.cli import app, plugins

runner = CliRunner(env={"COLUMNS": "200", "NO_COLOR": "1"})


def greet(name: str, loud: bool = False) -> None:
    """Greet somebody by name."""
    typer.echo(f"Hello {name.upper() if loud else name}")


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> list[EntryPoint]:
    """What is installed beside skypane: nothing, until a test adds to it."""
    found: list[EntryPoint] = []
    monkeypatch.setattr(plugins, "entry_points", lambda **wanted: EntryPoints(found).select(**wanted))
    return found


def test_a_command_of_another_distribution(installed: list[EntryPoint]) -> None:
    installed.append(EntryPoint("greet", f"{__name__}:greet", plugins.COMMANDS))
    assert "Greet somebody by name." in runner.invoke(app, ["--help"]).output
    assert "--loud" in runner.invoke(app, ["greet", "--help"]).output
    assert runner.invoke(app, ["greet", "Ada", "--loud"]).output == "Hello ADA\n"


def test_a_command_that_cannot_be_imported_breaks_no_other(installed: list[EntryPoint]) -> None:
    installed.append(EntryPoint("broken", "no_such_package.commands:broken", plugins.COMMANDS))
    assert runner.invoke(app, ["generate", "--help"]).exit_code == 0
    result = runner.invoke(app, ["broken"])
    assert result.exit_code == 2
    assert "'broken' of no_such_package.commands:broken cannot be imported" in result.output


def test_the_commands_of_skypane_go_before(installed: list[EntryPoint]) -> None:
    installed.append(EntryPoint("generate", f"{__name__}:greet", plugins.COMMANDS))
    assert "Greet" not in runner.invoke(app, ["generate", "--help"]).output


def test_without_a_simulator_explore_says_what_to_install(installed: list[EntryPoint]) -> None:
    result = runner.invoke(app, ["explore", "--simulate", "4"])
    assert result.exit_code == 2
    assert "--simulate needs the simulator" in result.output
    assert "install skypane-lab" in result.output
    assert "No such command 'simulate'" in runner.invoke(app, ["simulate"]).output
