"""What other distributions add to the command line, by entry points: commands, and the simulator that explore uses."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any

import typer

from skypane.model.errors import OptionError, SkypaneError

if TYPE_CHECKING:
    from skypane.tuning.patterns.base import Pattern, Work
    from skypane.tuning.planner.cost_model import CostModel

    Simulator = Callable[[Pattern, Work, CostModel, int], float]
    """Microseconds that a step takes in a tree, for this work and these costs, on so many virtual cores."""

COMMANDS = "skypane.commands"
"""Entry points of this group are functions for typer; the name is that of the command."""
SIMULATOR = "skypane.simulator"
"""The one entry point of this group is a ``Simulator``."""


def command_names() -> list[str]:
    """The commands that other distributions add."""
    return sorted(entry_points(group=COMMANDS).names)


def load_command(name: str) -> Any:
    """The command of that name, or ``None``; imported only now, so that one that fails to import breaks no other."""
    for found in entry_points(group=COMMANDS, name=name):
        alone = typer.Typer(add_completion=False, rich_markup_mode="rich")
        alone.command(name)(_load(found))
        return typer.main.get_command(alone)
    return None


def load_simulator() -> Simulator:
    """The installed simulator; an error says what to install."""
    for found in entry_points(group=SIMULATOR):
        simulator: Simulator = _load(found)
        return simulator
    raise OptionError("--simulate needs the simulator, which is a package of its own: install skypane-lab.")


def _load(found: EntryPoint) -> Any:
    try:
        return found.load()
    except (ImportError, AttributeError) as error:
        package = found.dist.name if found.dist else found.value
        raise SkypaneError(
            f"{found.name!r} of {package} cannot be imported ({error}): install the version that fits this skypane."
        ) from error
