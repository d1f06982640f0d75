"""Options are declared once: the fluent steps take what is declared, with the same defaults, and say what has moved."""

from __future__ import annotations

import inspect
from dataclasses import MISSING, fields
from typing import Any

import pytest

import skypane as sp
from skypane.api.by_name import POLICIES
from skypane.api.options import ELASTIC, MOVED, OPTIONS, SECTIONS, SINKS, Option, options_of
from skypane.api.parallelism import Parallelism, parallel_arguments
from skypane.api.run_options import RunOptions
from skypane.api.stream import ContinuousQuery, Stream
from skypane.api.waiting import Waiting
from skypane.model.errors import OptionError

PLAIN = Stream(None, "ts", ()).window("1 second").skyline(minimize="a")  # type: ignore[arg-type]  # no records are looked at


def declared(section: str) -> dict[str, Any]:
    return {
        option.name: option.default for option in options_of(section) if not (option.of_policy or option.of_elastic)
    }


def taken(kind: type) -> dict[str, Any]:
    made = {f.name: f.default if f.default is not MISSING else f.default_factory for f in fields(kind)}
    return {**made, **({"policy": "kslack"} if "policy" in made else {})}


@pytest.mark.parametrize(("section", "kind"), [("lateness", Waiting), ("parallel", Parallelism)])
def test_a_step_takes_exactly_what_is_declared(section: str, kind: type) -> None:
    assert taken(kind) == declared(section)
    parameters = dict(inspect.signature(getattr(ContinuousQuery, section)).parameters)
    parameters.pop("self")
    assert list(parameters) == list(declared(section))
    assert {parameter.default for parameter in parameters.values()} == {...}


def test_start_takes_exactly_what_is_declared() -> None:
    parameters = dict(inspect.signature(ContinuousQuery.start).parameters)
    parameters.pop("self")
    run = {name: p.default for name, p in parameters.items() if name not in SINKS}
    assert run == declared("run")
    assert {f.name: f.default for f in fields(RunOptions) if f.name not in SINKS} == run
    assert set(parameters) - set(run) == set(SINKS)


def test_policies_take_exactly_what_is_declared() -> None:
    of_policies = {option.name for option in OPTIONS if option.of_policy}
    assert {name for policy in POLICIES.values() for name in inspect.signature(policy).parameters} == of_policies


def test_elastic_degrees_take_exactly_what_is_declared() -> None:
    in_files = {option.name: option.default for option in ELASTIC}
    assert {f.name: f.default for f in fields(sp.Elastic)} == in_files
    assert parallel_arguments({"elastic": True, "max_degree": 5, "cut_rows": 1}) == {
        "elastic": sp.Elastic(max_degree=5),
        "cut_rows": 1,
    }
    assert parallel_arguments({"elastic": False, "degree": 2}) == {"degree": 2}
    assert PLAIN.parallel(elastic=True).parallelism.settings(slots=2).elastic == sp.Elastic()
    with pytest.raises(OptionError, match=r"must be True, False or sp.Elastic\(\.\.\.\), e.g. sp.Elastic\(max_deg"):
        PLAIN.parallel(elastic=sp.Elastic).parallelism.settings(slots=2)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match=r"max_degree: only with elastic = true \(--elastic\), which is not set"):
        parallel_arguments({"max_degree": 5})


def test_every_default_is_allowed_and_every_section_has_options() -> None:
    for option in OPTIONS:
        if option.default is not None:
            option.check(option.default)
    assert {option.section for option in OPTIONS} == set(SECTIONS)
    flags = [option.command for option in OPTIONS if option.command]
    assert len(flags) == len(set(flags))


@pytest.mark.parametrize("old", sorted(set(MOVED) - {"slide_strategy"}))
def test_an_option_that_has_moved_says_where(old: str) -> None:
    step, now = MOVED[old]
    assert now in declared(step)
    with pytest.raises(OptionError, match=rf"start\({old}=\.\.\.\) has moved: write \.{step}\({now}=\.\.\.\)"):
        PLAIN.start(sink=sp.DiscardSink(), **{old: 1})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("step", "given", "says"),
    [
        (
            "parallel",
            {"elastic": True, "max_degree": 4, "period": "1 s"},
            r"max_degree, period are settings.* \.parallel\(elastic=sp\.Elastic\(max_degree=4, period='1 s'\)\)",
        ),
        ("parallel", {"dwell": 3}, r"dwell is a setting of elastic degrees: write .*sp\.Elastic\(dwell=3\)"),
        (
            "parallel",
            {"pane_degre": 3},
            r"parallel\(pane_degre=\.\.\.\) is unknown\. Did you mean 'pane_degree'\? The op",
        ),
        ("parallel", {"bogus": 3}, r"parallel\(bogus=\.\.\.\) is unknown\. The options are: pattern, max_latency, spl"),
        (
            "parallel",
            {"checkpoint": "c"},
            r"checkpoint is no option of \.parallel\(.*write \.start\(checkpoint=\.\.\.\)",
        ),
        (
            "lateness",
            {"max_slack": "1 s"},
            r"max_slack is a setting of a lateness policy: write .*sp\.KSlack\(max_slack=",
        ),
        ("lateness", {"alowed": "1 s"}, r"lateness\(alowed=\.\.\.\) is unknown\. Did you mean 'allowed'\?"),
        ("start", {"bogus": 1}, r"start\(bogus=\.\.\.\) is unknown\. The options are: sink, checkpoint, late, quar"),
        (
            "start",
            {"max_degree": 1},
            r"no option of \.start\(.*write \.parallel\(elastic=sp\.Elastic\(max_degree=\.\.\.\)\)",
        ),
        ("explain", {"checkpiont": "c"}, r"start\(checkpiont=\.\.\.\) is unknown\. Did you mean 'checkpoint'\?"),
    ],
)
def test_an_unknown_option_is_refused_with_what_was_meant(step: str, given: dict[str, Any], says: str) -> None:
    options = {"sink": sp.DiscardSink(), **given} if step == "start" else given
    with pytest.raises(OptionError, match=says):
        getattr(PLAIN, step)(**options)


def test_steps_come_in_any_order_and_replace_only_what_they_name() -> None:
    one = PLAIN.parallel(degree=3).lateness(sp.Harm(0.1), allowed="1 s").parallel(inline_rows=7)
    two = PLAIN.lateness(allowed="9 s", max_future=None).parallel(inline_rows=7, degree=3)
    two = two.lateness(sp.Harm(0.1)).lateness(allowed="1 s", max_future="auto")
    assert one == two
    assert one.waiting == Waiting(sp.Harm(0.1), allowed="1 s")
    assert one.parallelism == Parallelism(degree=3, inline_rows=7)
    assert one.parallel(degree=None).parallelism == Parallelism(inline_rows=7)
    assert PLAIN.lateness() == PLAIN == PLAIN.parallel()


def test_a_policy_by_name() -> None:
    assert PLAIN.lateness("kslack").waiting.policy == sp.KSlack()
    with pytest.raises(OptionError, match="policy 'patient' is unknown; it is one of: kslack, fixed_delay"):
        PLAIN.lateness("patient")
    with pytest.raises(OptionError, match="policy 'harm' with no settings: missing 1 required setting: 'target'"):
        PLAIN.lateness("harm")


@pytest.mark.parametrize(
    ("step", "options", "message"),
    [
        ("lateness", {"across": "mean"}, "across='mean' is unknown; it must be one of min, max"),
        ("lateness", {"max_lag": "1 s"}, "max_lag= are for streams with partitions"),
        ("lateness", {"partition_timeout": "0 s"}, "partition_timeout='0 s' must be longer than zero"),
        ("lateness", {"partition_timeout": None}, "partition_timeout=None must be a duration"),
        ("lateness", {"allowed": "soon"}, "allowed='soon' is not a duration"),
        ("lateness", {"max_future": "1 month"}, "max_future='1 month': a month has no fixed length"),
        ("lateness", {"future_support": True}, "future_support=True must be a whole number from 1"),
        ("lateness", {"harm_horizon": 5}, "harm_horizon=5 must be a duration, zero, auto; durations are text"),
        ("parallel", {"splitting": "fair"}, "splitting='fair' is unknown; it must be one of combine, pane_rr"),
        ("parallel", {"max_latency": "0 s"}, "max_latency='0 s' must be longer than zero"),
        ("parallel", {"pane_degree": 0}, "pane_degree=0 must be a whole number from 1 to 10000"),
        ("parallel", {"degree": 1.5}, "degree=1.5 must be a whole number from 1"),
        ("parallel", {"inline_rows": -1}, "inline_rows=-1 must be a whole number from 0"),
        ("parallel", {"window_scheduling": "fair"}, "window_scheduling='fair' is unknown.*ranges"),
        ("parallel", {"elastic": True, "degree": 3}, "elastic decides the degrees itself: leave out degree and"),
        ("parallel", {"elastic": sp.Elastic(), "pane_degree": 3}, "leave out degree and pane_degree.*max_degree"),
        ("parallel", {"elastic": "yes"}, "elastic='yes' must be True, False or sp.Elastic"),
        ("parallel", {"elastic": 3}, r"elastic=3 must be True, False or sp.Elastic\(\.\.\.\), e.g. sp.Elastic\(max"),
        ("parallel", {"elastic": None}, "elastic=None must be True, False or sp.Elastic"),
        ("parallel", {"elastic": {"max_degree": 3}}, "elastic={'max_degree': 3} must be True, False or sp.Elastic"),
        ("parallel", {"sliding": "fast"}, "sliding='fast' is unknown.*auto, critical, recompute, tiles"),
        ("parallel", {"processing": "sorted"}, "processing='sorted' is unknown.*out_of_order, in_order"),
    ],
)
def test_a_value_that_cannot_be_meant_is_refused_at_once(step: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        getattr(PLAIN, step)(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"trigger": "soon"}, "trigger='soon' is not a duration"),
        ({"idle_timeout": "0 s"}, "idle_timeout='0 s' must be longer than zero"),
        ({"emit": "some"}, "emit='some' is unknown; it must be one of full, changes"),
        ({"flush": "yes"}, "flush='yes' must be true or false"),
        ({"checkpoint": ""}, "checkpoint='' must be text"),
        ({"name": 3}, "name=3 must be text"),
    ],
)
def test_options_of_a_run_are_checked_before_spark_is_asked(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        PLAIN.start(sink=sp.DiscardSink(), **options)


def test_none_is_allowed_where_it_means_something() -> None:
    assert RunOptions(sp.DiscardSink(), idle_timeout=None).idle_timeout is None
    by_name: dict[str, Option] = {option.name: option for option in options_of("run")}
    with pytest.raises(OptionError, match="trigger=None must be"):
        by_name["trigger"].check(None)
