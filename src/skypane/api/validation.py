"""Validation: whether a query can run, or the error that says why it cannot; no record is looked at."""

from __future__ import annotations

from skypane.api.options.parallel_options import ParallelOptions
from skypane.api.options.run_options import RunOptions
from skypane.flow.definition import Definition
from skypane.flow.processing.choice import check_processing
from skypane.flow.windows.slide.choice import check_slide
from skypane.model.errors import OptionError
from skypane.tuning.pattern_fit import fitted


def validated(definition: Definition, parallel: ParallelOptions, run: RunOptions) -> Definition:
    """The definition as it runs."""
    if definition.sets_aside and not definition.query.runs_functions:
        raise OptionError(f"failed= is for apply and fold, which call functions, not for {definition.query.kind}.")
    if parallel.max_latency is not None and run.trigger != RunOptions.trigger:
        raise OptionError(
            f"max_latency= decides when a step starts, and so does trigger={run.trigger!r}. Leave one of them out."
        )
    check_slide(definition)
    check_processing(definition)
    definition.emit.check(definition)
    return definition if parallel.tree is None else fitted(definition, parallel.tree)
