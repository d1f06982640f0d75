"""Users find what they hold in ``skypane``, extenders what they derive from in ``skypane.extend``; types know both."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

import skypane as sp
from skypane import testing

KINDS = {
    "query": ["Query", "Selection", "Grouped", "Groups", "Preferences", "Invalid", "Expression", "Dominance", "Row"],
    "lateness policy": ["Lateness", "Observation", "Judgement", "DelayHistogram", "PolicyState", "Panes"],
    "pane strategy": ["PaneStrategy", "Allocation", "ClosedPane", "Queues", "Measurement", "WorkerLoad"],
    "sink": ["Sink", "StepRows", "Continuation"],
    "emission": ["Emission", "Definition", "Answers", "Fired", "Firing", "Slide", "Span"],
    "pattern": ["Pattern", "Work", "TreePlan", "Block", "Extent", "Role", "node", "farm", "pipe"],
    "controller": ["ElasticController", "ElasticDecision", "Snapshot"],
}
HELD = [
    "Stream",
    "Windowed",
    "ContinuousQuery",
    "RunningQuery",
    "Metrics",
    "Partition",
    "TimeGuard",
    "Tuning",
    "Elastic",
]


def test_every_public_name_can_be_had() -> None:
    for module in (sp, sp.extend, testing):
        assert sorted(dir(module)) == sorted(module.__all__)
        for name in module.__all__:
            assert getattr(module, name) is not None


def test_users_find_what_they_hold() -> None:
    assert set(HELD) <= set(sp.__all__)
    assert not set(sp.__all__) & set(sp.extend.__all__)


@pytest.mark.parametrize("kind", KINDS)
def test_what_an_extension_needs_is_public(kind: str) -> None:
    assert set(KINDS[kind]) <= set(sp.extend.__all__)


@pytest.mark.parametrize("name", [name for names in KINDS.values() for name in names])
def test_a_name_that_has_moved_says_where_it_is(name: str) -> None:
    with pytest.raises(AttributeError, match=rf"skypane\.{name} has moved: it is skypane\.extend\.{name}\."):
        getattr(sp, name)


def test_a_name_that_is_none_is_an_attribute_error() -> None:
    modules: list[Any] = [sp, sp.extend, testing]
    for module in modules:
        with pytest.raises(AttributeError, match=r"has no attribute 'Sinc'"):
            _ = module.Sinc


def test_importing_skypane_imports_no_spark() -> None:
    code = "import sys, skypane as sp; sp.Tuning(), sp.TimeGuard(), sp.Partition('p'); print('pyspark' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_queries_policies_and_strategies_need_no_spark() -> None:
    """In a process that cannot import it."""
    names = [name for kind in KINDS if kind != "sink" for name in KINDS[kind]]
    code = (
        "import sys; sys.modules['pyspark'] = None\n"
        f"import skypane as sp\nfor name in {names!r}: getattr(sp.extend, name)\n"
        "from skypane.testing import check_query, check_policy, check_pane_strategy\n"
        "for have in (lambda: sp.extend.Sink, lambda: sp.ConsoleSink):\n"
        "    try: have()\n    except ImportError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "skypane.extend.Sink needs Spark. Install it with" in done.stdout
    assert "skypane.ConsoleSink needs Spark. Install it with" in done.stdout
