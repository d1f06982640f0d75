"""Checked: a definition that can run, or the error that says why it cannot; no record is looked at."""

from __future__ import annotations

from typing import Any

from skypane.api.parallelism import Parallelism
from skypane.api.run_options import RunOptions
from skypane.flow.definition import Definition
from skypane.flow.patterned import fitted
from skypane.flow.processing.choice import check_processing
from skypane.flow.windows.slide.choice import check_slide
from skypane.model.errors import OptionError


def checked(definition: Definition, parallelism: Parallelism, run: RunOptions) -> Definition:
    """The definition as it runs."""
    if definition.sets_aside and not definition.query.runs_functions:
        raise OptionError(f"failed= is for apply and fold, which call functions, not for {definition.query.kind}.")
    if parallelism.max_latency is not None and run.trigger != RunOptions.trigger:
        raise OptionError(f"max_latency= decides when to take a step: leave out trigger={run.trigger!r}, or it.")
    check_slide(definition)
    check_processing(definition)
    definition.emit.check(definition)
    return definition if parallelism.tree is None else fitted(definition, parallelism.tree)


def named(**options: object) -> dict[str, Any]:
    """Those that a caller has named."""
    return {name: value for name, value in options.items() if value is not ...}
