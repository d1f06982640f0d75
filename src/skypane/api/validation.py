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
    _check_distinct(definition, parallel, run)
    if parallel.max_latency is not None and run.trigger != RunOptions.trigger:
        raise OptionError(
            f"max_latency= decides when a step starts, and so does trigger={run.trigger!r}. Leave one of them out."
        )
    check_slide(definition)
    check_processing(definition)
    definition.emit.check(definition)
    return definition if parallel.tree is None else fitted(definition, parallel.tree)


def _check_distinct(definition: Definition, parallel: ParallelOptions, run: RunOptions) -> None:
    """Refuse what goes without ids, and what does not go with them."""
    if definition.distinct is None:
        if run.duplicates is not None:
            raise OptionError(
                "duplicates= is for streams with an id: sp.stream(..., distinct_by='offer_id', within='10 minutes')."
            )
        return
    if (plan := parallel.plan()).splitting is not None:
        given = f"splitting={parallel.tuning.splitting!r}" if plan.tree is None else f"pattern={plan.tree}"
        raise OptionError(
            f"{given} decides which task gets a record, and so does distinct_by: records with one id must meet. "
            "Leave one of them out."
        )
