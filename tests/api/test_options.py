"""Options are declared once: the steps take what is declared, with the same defaults, and refuse old spellings."""

from __future__ import annotations

import inspect
from dataclasses import fields
from typing import Any

import pytest

import skypane as sp
from skypane.api.by_name import POLICIES
from skypane.api.continuous_query import ContinuousQuery
from skypane.api.options.declarations import ELASTIC, OPTIONS, SECTIONS, SINKS, option_at, options_of
from skypane.api.options.lateness_options import LatenessOptions
from skypane.api.options.option import Option
from skypane.api.options.parallel_options import ParallelOptions, parallel_arguments
from skypane.api.options.partition import Partition
from skypane.api.options.run_options import RunOptions
from skypane.api.options.spelling import MOVED
from skypane.api.options.time_guard import TimeGuard
from skypane.api.options.tuning import Tuning
from skypane.api.stream import Stream, describe_stream
from skypane.flow.windows.emit.changes import Changes
from skypane.model.errors import OptionError

PLAIN = Stream(None, "ts", ()).window("1 second").skyline(minimize="a")  # type: ignore[arg-type]  # no records are looked at


def declared(section: str) -> dict[str, Any]:
    """In Python: policies and elastic degrees are objects with options of their own."""
    return {
        option.name: option.default for option in options_of(section) if not (option.of_policy or option.of_elastic)
    }


def taken(callable_: Any, *others: str) -> dict[str, Any]:
    """What a step or a class takes, by the signature that editors show; ``others`` are no options."""
    parameters = inspect.signature(callable_).parameters.values()
    return {each.name: each.default for each in parameters if each.name not in {"self", *others}}


@pytest.mark.parametrize(
    ("section", "takes"),
    [
        ("lateness", {**taken(ContinuousQuery.lateness, "guard"), "policy": "kslack"}),
        ("lateness", {**taken(LatenessOptions, "guard"), "policy": "kslack"}),
        ("lateness.guard", taken(TimeGuard)),
        ("partition", taken(Partition, "column")),
        ("parallel", taken(ContinuousQuery.parallel, "tuning")),
        ("parallel", taken(ParallelOptions, "tuning")),
        ("parallel.tuning", taken(Tuning)),
        ("run", taken(ContinuousQuery.start, *SINKS)),
        ("run", taken(RunOptions, *SINKS)),
    ],
)
def test_python_takes_exactly_what_is_declared(section: str, takes: dict[str, Any]) -> None:
    assert takes == declared(section)
    assert list(takes) == list(declared(section))


def test_signatures_show_the_objects_that_are_the_defaults() -> None:
    lateness, parallel = taken(ContinuousQuery.lateness), taken(ContinuousQuery.parallel)
    assert (lateness["policy"], lateness["guard"], parallel["tuning"]) == (sp.KSlack(), sp.TimeGuard(), sp.Tuning())
    assert taken(ContinuousQuery.emit) == {"what": inspect.Parameter.empty, "expiries": True}
    assert set(taken(ContinuousQuery.start)) - set(declared("run")) == set(SINKS)
    assert (option_at("query.emit").default, option_at("query.expiries").default) == (None, True)


def test_policies_take_exactly_what_is_declared() -> None:
    of_policies = {option.name for option in OPTIONS if option.of_policy}
    assert {name for policy in POLICIES.values() for name in inspect.signature(policy).parameters} == of_policies


def test_elastic_degrees_take_exactly_what_is_declared() -> None:
    in_files = {option.name: option.default for option in ELASTIC}
    assert {f.name: f.default for f in fields(sp.Elastic)} == in_files
    assert parallel_arguments({"elastic": True, "max_degree": 5, "max_latency": "1 s"}) == {
        "elastic": sp.Elastic(max_degree=5),
        "max_latency": "1 s",
    }
    assert parallel_arguments({"elastic": False, "degree": 2}) == {"degree": 2}
    assert PLAIN.parallel(elastic=True).parallel_options.plan().elastic == sp.Elastic()
    with pytest.raises(OptionError, match=r"must be True, False or sp.Elastic\(\.\.\.\), e.g. sp.Elastic\(max_deg"):
        PLAIN.parallel(elastic=sp.Elastic).parallel_options.plan()  # type: ignore[arg-type]
    with pytest.raises(OptionError, match=r"max_degree: needs elastic = true \(--elastic\), which is not set"):
        parallel_arguments({"max_degree": 5})


def test_every_default_is_allowed_and_every_section_has_options() -> None:
    for option in OPTIONS:
        if option.default is not None:
            option.check(option.default)
    assert {option.section for option in OPTIONS} == set(SECTIONS)
    flags = [option.command for option in OPTIONS if option.command]
    assert len(flags) == len(set(flags))


STEPS = {"lateness": "lateness", "parallel": "parallel", "run": "start"}
CALLS = {
    "partition": "sp.stream(..., partition=sp.Partition('column', {}=1))",
    "lateness": ".lateness({}=1)",
    "lateness.guard": ".lateness(guard=sp.TimeGuard({}=1))",
    "parallel": ".parallel({}=1)",
    "parallel.tuning": ".parallel(tuning=sp.Tuning({}=1))",
}


@pytest.mark.parametrize("old", sorted(MOVED))
def test_an_old_spelling_is_refused_with_the_new_one(old: str) -> None:
    (section, _, name), now = old.rpartition("."), option_at(MOVED[old])
    given = {name: 1} if section != "run" else {"sink": sp.DiscardSink(), name: 1}
    written = {"emit": ".emit(1)", "expiries": ".emit(..., expiries=1)"}
    new = written[name] if now.section == "query" else CALLS[now.section].format(now.name)
    with pytest.raises(OptionError) as refused:
        getattr(PLAIN, STEPS[section])(**given)
    assert str(refused.value) == f"{name} is not an option of .{STEPS[section]}(...): write {new}."


def test_the_new_spellings_are_accepted() -> None:
    guard = sp.TimeGuard(max_future=None, support=2, clock_tolerance="0 s")
    partition = sp.Partition("zone", across="max", max_lag="1 s", timeout="2 s")
    tuning = sp.Tuning(splitting="adaptive", pane_degree=3, processing="in_order")
    asked = describe_stream(time="ts", partition=partition).window("1 s").skyline(minimize="a")
    asked = asked.lateness(guard=guard).parallel(tuning=tuning).emit("changes")
    definition, options = asked.plan(RunOptions(sp.DiscardSink()), slots=2)
    assert (definition.partition, definition.processing, definition.emit.name) == ("zone", "in_order", "changes")
    punctuator = options.punctuator
    assert (punctuator.guard.max_future_us, punctuator.guard.support, punctuator.guard.tolerance_us) == (
        None,
        2,
        0,
    )
    assert punctuator.sources is not None
    assert (punctuator.sources.across, punctuator.sources.max_lag_us) == ("max", 1_000_000)
    assert punctuator.sources.idle_timeout_us == 2_000_000
    assert (options.parallel.base.pane_tasks, options.parallel.splitting) == (3, "adaptive")
    assert describe_stream(time="ts", partition="zone").partition == sp.Partition("zone")


@pytest.mark.parametrize(
    ("step", "given", "says"),
    [
        (
            "parallel",
            {"elastic": True, "max_degree": 4, "period": "1 s"},
            r"max_degree, period are not.* \.parallel\(elastic=sp\.Elastic\(max_degree=4, period='1 s'\)\)",
        ),
        ("parallel", {"dwell": 3}, r"dwell is not an option of .*: write .*sp\.Elastic\(dwell=3\)"),
        (
            "parallel",
            {"splitting": "adaptive", "cut_rows": 3, "max_future": None},
            r"splitting, cut_rows are not.*: write \.parallel\(tuning=sp\.Tuning\(splitting='adaptive', cut_rows=3\)\)",
        ),
        (
            "parallel",
            {"splitting": int},
            r"write \.parallel\(tuning=sp\.Tuning\(splitting=\.\.\.\)\)",
        ),
        (
            "parallel",
            {"pane_degre": 3},
            r"parallel\(pane_degre=\.\.\.\) is unknown\. Did you mean \.parallel\(tuning=sp\.Tuning\(pane_degree=",
        ),
        ("parallel", {"degre": 3}, r"parallel\(degre=\.\.\.\) is unknown\. Did you mean 'degree'\? The options are"),
        ("parallel", {"bogus": 3}, r"parallel\(bogus=\.\.\.\) is unknown\. The options are: degree, elastic, max_lat"),
        (
            "parallel",
            {"checkpoint": "c"},
            r"checkpoint is not an option of \.parallel\(.*write \.start\(checkpoint='c'\)",
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
            r"not an option of \.start\(.*write \.parallel\(elastic=sp\.Elastic\(max_degree=1\)\)",
        ),
        ("start", {"emit": "updates", "expiries": False}, r"write \.emit\('updates', expiries=False\)"),
        ("emit", {"what": "full", "expires": False}, r"emit\(expires=\.\.\.\) is unknown\. Did you mean 'expiries'\?"),
        ("explain", {"emit": "changes"}, r"emit is not an option of \.start\(\.\.\.\): write \.emit\('changes'\)"),
        ("explain", {"checkpiont": "c"}, r"start\(checkpiont=\.\.\.\) is unknown\. Did you mean 'checkpoint'\?"),
    ],
)
def test_an_unknown_option_is_refused_with_what_was_meant(step: str, given: dict[str, Any], says: str) -> None:
    options = {"sink": sp.DiscardSink(), **given} if step == "start" else given
    with pytest.raises(OptionError, match=says):
        getattr(PLAIN, step)(**options)


def test_steps_come_in_any_order_and_a_second_call_replaces_the_first() -> None:
    tuning, changes = sp.Tuning(inline_rows=7), Changes()
    one = PLAIN.parallel(degree=3, tuning=tuning).lateness(sp.Harm(0.1), allowed="1 s").emit(changes)
    two = PLAIN.emit("full").lateness(allowed="9 s", guard=sp.TimeGuard(support=2)).parallel(max_latency="1 s")
    two = two.lateness(sp.Harm(0.1), allowed="1 s").emit(changes).parallel(degree=3, tuning=tuning)
    assert one == two
    assert one.lateness_options == LatenessOptions(sp.Harm(0.1), allowed="1 s")
    assert one.parallel_options == ParallelOptions(degree=3, tuning=tuning)
    assert one.parallel(degree=4).parallel_options == ParallelOptions(degree=4)
    assert one.lateness(allowed="2 s").lateness_options == LatenessOptions(allowed="2 s")
    assert PLAIN.lateness() == PLAIN == PLAIN.parallel()


def test_a_policy_by_name() -> None:
    assert PLAIN.lateness("kslack").lateness_options.policy == sp.KSlack()
    with pytest.raises(OptionError, match=r"policy 'patient' is unknown\. It is one of: kslack, fixed_delay"):
        PLAIN.lateness("patient")
    with pytest.raises(OptionError, match="policy 'harm' with no settings: missing 1 required setting: 'target'"):
        PLAIN.lateness("harm")


@pytest.mark.parametrize(
    ("step", "options", "message"),
    [
        ("lateness", {"allowed": "soon"}, "allowed='soon' is not a duration"),
        ("lateness", {"harm_horizon": 5}, "harm_horizon=5 must be a duration, zero, auto; durations are text"),
        ("lateness", {"guard": "1 hour"}, "guard='1 hour' must be an sp.TimeGuard"),
        ("parallel", {"max_latency": "0 s"}, "max_latency='0 s' must be longer than zero"),
        ("parallel", {"degree": 1.5}, "degree=1.5 must be a whole number from 1"),
        ("parallel", {"tuning": {"cut_rows": 1}}, "tuning={'cut_rows': 1} must be an sp.Tuning"),
        ("parallel", {"elastic": True, "degree": 3}, "elastic decides the degrees itself: leave out degree and"),
        (
            "parallel",
            {"elastic": sp.Elastic(), "tuning": sp.Tuning(pane_degree=3)},
            "leave out degree and pane_degree.*max_degree",
        ),
        ("parallel", {"elastic": "yes"}, "elastic='yes' must be True, False or sp.Elastic"),
        ("parallel", {"elastic": 3}, r"elastic=3 must be True, False or sp.Elastic\(\.\.\.\), e.g. sp.Elastic\(max"),
        ("parallel", {"elastic": None}, "elastic=None must be True, False or sp.Elastic"),
        ("parallel", {"elastic": {"max_degree": 3}}, "elastic={'max_degree': 3} must be True, False or sp.Elastic"),
        ("emit", {"what": "some"}, "emit='some' is unknown; it must be one of full, changes"),
        ("emit", {"what": 3}, "emit=3 is unknown; it must be one of full, changes"),
        ("emit", {"what": "full", "expiries": "no"}, "expiries='no' must be true or false"),
        ("emit", {"what": "full", "expiries": False}, "expiries=False is for .emit..updates.*, not for .emit..full"),
    ],
)
def test_a_value_that_is_not_allowed_is_refused_at_once(step: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        getattr(PLAIN, step)(**options)


@pytest.mark.parametrize(
    ("made", "options", "message"),
    [
        (sp.Partition, {"column": 3}, r"Partition\(3\): give the name of a column"),
        (sp.Partition, {"column": "p", "across": "mean"}, "across='mean' is unknown; it must be one of min, max"),
        (sp.Partition, {"column": "p", "max_lag": 5}, "max_lag=5 must be a duration, zero"),
        (sp.Partition, {"column": "p", "timeout": "0 s"}, "timeout='0 s' must be longer than zero"),
        (sp.Partition, {"column": "p", "timeout": None}, "timeout=None must be a duration"),
        (sp.TimeGuard, {"max_future": "1 month"}, "max_future='1 month': a month has no fixed length"),
        (sp.TimeGuard, {"support": True}, "support=True must be a whole number from 1"),
        (sp.TimeGuard, {"clock_tolerance": None}, "clock_tolerance=None must be a duration"),
        (sp.Tuning, {"splitting": "fair"}, "splitting='fair' is unknown; it must be one of combine, pane_rr"),
        (sp.Tuning, {"pane_degree": 0}, "pane_degree=0 must be a whole number from 1 to 10000"),
        (sp.Tuning, {"inline_rows": -1}, "inline_rows=-1 must be a whole number from 0"),
        (sp.Tuning, {"window_scheduling": "fair"}, "window_scheduling='fair' is unknown.*ranges"),
        (sp.Tuning, {"sliding": "fast"}, "sliding='fast' is unknown.*auto, critical, recompute, tiles"),
        (sp.Tuning, {"processing": "sorted"}, "processing='sorted' is unknown.*out_of_order, in_order"),
    ],
)
def test_objects_of_options_are_checked_when_they_are_made(made: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        made(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"trigger": "soon"}, "trigger='soon' is not a duration"),
        ({"idle_timeout": "0 s"}, "idle_timeout='0 s' must be longer than zero"),
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
