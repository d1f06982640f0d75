"""What extensions are made of is public: every name can be had, and the core without Spark."""

from __future__ import annotations

import subprocess
import sys

import pytest

import skypane as sp
from skypane import testing

KINDS = {
    "query": ["Query", "Selection", "Grouped", "Groups", "Preferences", "Invalid", "Expression", "Dominance", "Row"],
    "lateness policy": ["Lateness", "Observation", "Judgement", "DelayHistogram", "PolicyState"],
    "pane strategy": ["PaneStrategy", "Allocation", "ClosedPane", "Queues", "Measurement", "WorkerLoad"],
    "sink": ["Sink", "StepRows", "Continuation"],
    "emission": ["Emission", "Definition", "Fired", "Slide", "Span"],
}


def test_every_public_name_can_be_had() -> None:
    for module in (sp, testing):
        assert sorted(dir(module)) == sorted(module.__all__)
        for name in module.__all__:
            assert getattr(module, name) is not None


@pytest.mark.parametrize("kind", KINDS)
def test_what_an_extension_needs_is_public(kind: str) -> None:
    assert set(KINDS[kind]) <= set(sp.__all__)


def test_a_name_that_is_none_is_an_attribute_error() -> None:
    for module in (sp, testing):
        with pytest.raises(AttributeError, match=r"has no attribute 'Sinc'"):
            _ = module.Sinc


def test_queries_policies_and_strategies_need_no_spark() -> None:
    """In a process that cannot import it."""
    names = [name for kind in KINDS if kind != "sink" for name in KINDS[kind]]
    code = (
        "import sys; sys.modules['pyspark'] = None\n"
        f"import skypane as sp\nfor name in {names!r}: getattr(sp, name)\n"
        "from skypane.testing import check_query, check_policy, check_pane_strategy\n"
        "try: sp.Sink\nexcept ImportError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "skypane.Sink needs Spark. Install it with" in done.stdout
