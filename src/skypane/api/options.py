"""Options: everything that can be chosen about a continuous query, declared once.

The steps of the fluent interface, the options of ``skypane run``, the sections of its TOML files, the sample that
``skypane init`` writes and docs/command-line.md all come from this table, or are tested against it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from skypane.api.by_name import POLICIES
from skypane.api.option_kinds import Choice, Flag, Kind, Length, Names, Pairs, Share, Text, Tree, Whole
from skypane.flow.windows.emit.names import EMISSIONS
from skypane.flow.windows.slide.choice import SLIDES
from skypane.model.numbers import MOST
from skypane.scheduling.elastic import CONTROLLERS, DEFAULT_CONTROLLER
from skypane.scheduling.ownership import OWNERSHIPS
from skypane.scheduling.pane_strategies import SPLITTINGS
from skypane.scheduling.pane_strategy import MAX_DEGREE
from skypane.scheduling.partitioning import PARTITIONINGS
from skypane.scheduling.ranges import WINDOW_SCHEDULINGS

SINKS: Final = ("sink", "late", "quarantine", "failed")
QUERY_TYPES: Final = ("skyline", "top_delta", "top_k", "aggregate", "apply", "fold")
SECTIONS: Final[Mapping[str, str]] = {
    "source": "where records come from",
    "query": "what to ask of which windows",
    "lateness": "how long to wait for late records",
    "parallel": "who does which work; the answers are the same",
    "sink": "where results go",
    "late": "where late records go; they are counted in any case",
    "quarantine": "where unusable records go; they are counted in any case",
    "failed": "where windows go on which a function fails; else the query ends",
    "run": "how to run",
}
"""The topics, each a section of the TOML file."""
WINDOW_KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "window": ("slide",),
    "window_rows": ("slide_rows", "ttl"),
    "live": (),
}
"""The settings that say what windows are, one of which is needed, and what goes with each."""


@dataclass(frozen=True)
class Option:
    """One option."""

    section: str
    name: str
    kind: Kind
    help: str
    default: Any = None
    """``None``: there is none, or none of what the option is about."""
    needed: bool = False
    none: bool = False
    """Whether ``None`` says something else than the default; in text it is written ``none``."""
    flag: str | None = ""
    """On the command line: by its own name unless there is another, ``None`` if it is part of another option."""
    value: str = ""
    """How a value is written on the command line, if not as its kind is."""
    of_policy: bool = False
    """Whether it belongs to the lateness policy rather than to all of them."""
    of_elastic: bool = False
    """Whether it belongs to elastic degrees: in Python, an argument of ``sp.Elastic``."""

    @property
    def command(self) -> str | None:
        """How it is written on the command line."""
        return None if self.flag is None else f"--{self.flag or self.name.replace('_', '-')}"

    @property
    def meaning(self) -> str:
        """What it is for, and what there is to choose from."""
        return f"{self.help} One of {self.kind.allowed}." if self.kind.named else self.help

    @property
    def allowed(self) -> str:
        """What a value may be, in words."""
        return self.kind.allowed + (", none" if self.none else "")

    def check(self, value: object, what: str | None = None) -> None:
        """Raise an :class:`~skypane.model.errors.OptionError` unless the value can be meant."""
        if value is None and (self.none or self.default is None):
            return
        self.kind.check(what or self.name, value)


def _sink(section: str, where: str, default: str | None) -> tuple[Option, ...]:
    help_text = "console, discard, parquet, or another format that Spark can write."
    options = Pairs(("mergeSchema", "true"))
    return (
        Option(section, "format", Text("parquet"), help_text, default, flag=section, value="FORMAT:PATH"),
        Option(section, "path", Text(where), "The folder, or whatever path the format has.", flag=None),
        Option(section, "options", options, "Options of Spark's writer of that format.", flag=f"{section}-option"),
    )


_decides = "elastic: who decides."
_period = "elastic: how often degrees are decided."
_dwell = "elastic: for so many periods fewer tasks must do before there are fewer."
ELASTIC: Final[tuple[Option, ...]] = (
    Option("parallel", "min_degree", Whole(1, MAX_DEGREE), "elastic: the fewest tasks of a stage.", 1, of_elastic=True),
    Option(
        "parallel",
        "max_degree",
        Whole(1, MAX_DEGREE),
        "elastic: the most tasks of a stage; default: as many as Spark may run at a time.",
        of_elastic=True,
    ),
    Option("parallel", "controller", Choice(tuple(CONTROLLERS)), _decides, DEFAULT_CONTROLLER, of_elastic=True),
    Option("parallel", "period", Length(), _period, "2.5 seconds", of_elastic=True),
    Option("parallel", "dwell", Whole(1, MAX_DEGREE), _dwell, 2, of_elastic=True),
)
OPTIONS: Final[tuple[Option, ...]] = (
    Option(
        "source",
        "format",
        Text("skypane-traffic"),
        "Spark's name of the source: skypane-traffic, skypane-replay, parquet, kafka, ...",
        needed=True,
        flag="source",
    ),
    Option("source", "path", Text("records"), "The path of a file source."),
    Option("source", "schema", Text("ts timestamp, price double"), "The columns of a file source, as in SQL."),
    Option("source", "options", Pairs(("maxFilesPerTrigger", "1")), "Options of the source.", flag="source-option"),
    Option("query", "type", Choice(QUERY_TYPES), "What to ask of a window.", needed=True),
    Option("query", "time", Text("ts"), "The column with the event time.", needed=True),
    Option("query", "key", Names("city"), "Key columns: each key has its own answers."),
    Option("query", "partition", Text("sensor"), "The column that names a record's partition of the source."),
    Option("query", "window", Length(), "The length of the windows; this, window_rows or live is needed."),
    Option("query", "slide", Length(), "How often a window starts; without it windows tumble."),
    Option("query", "window_rows", Whole(1, MOST), "Instead of window: so many records of a key make a window."),
    Option("query", "slide_rows", Whole(1, MOST), "window_rows: after how many records the next window starts."),
    Option("query", "ttl", Length(), "window_rows: a key without records for so long, by their times, is forgotten."),
    Option(
        "query", "live", Length(), "Instead of window: the answer at every instant, from records no older than this."
    ),
    Option("query", "minimize", Names("price"), "skyline, top_delta: attributes of which less is better."),
    Option("query", "maximize", Names("rating"), "skyline, top_delta: attributes of which more is better."),
    Option("query", "delta", Whole(1), "top_delta: how many records."),
    Option("query", "k", Whole(1), "top_k: how many records."),
    Option("query", "score", Text("price / rating"), "top_k: a SQL expression, more is better."),
    Option(
        "query",
        "aggregate",
        Pairs(("p", "mean(price)"), texts=True),
        "aggregate: names and functions of SQL expressions.",
    ),
    Option("query", "function", Text("my_module:my_function"), "apply: a function; fold: an sp.Fold, or a class."),
    Option(
        "query",
        "schema",
        Text("median double, n long"),
        "apply: the columns that the function returns, as in SQL.",
        flag="function-schema",
    ),
    Option(
        "lateness",
        "policy",
        Choice(tuple(POLICIES), objects=True),
        "Who decides it.",
        "kslack",
        flag="lateness",
        value="NAME:SETTING",
    ),
    Option("lateness", "delay", Length(zero=True), "fixed_delay: how long to wait.", of_policy=True),
    Option("lateness", "target", Share(), "drop_ratio, harm: the share that may be lost.", of_policy=True),
    Option("lateness", "initial_slack", Length(zero=True), "The slack to begin with; not fixed_delay.", of_policy=True),
    Option(
        "lateness",
        "max_slack",
        Length(zero=True, words=("auto",)),
        "The longest slack; auto: ten windows, at least a minute; not fixed_delay.",
        none=True,
        of_policy=True,
    ),
    Option("lateness", "memory", Length(), "kslack: after how much stream time a delay is forgotten.", of_policy=True),
    Option(
        "lateness", "across", Choice(("min", "max")), "Partitions: wait for the slowest, or follow the newest.", "min"
    ),
    Option(
        "lateness", "max_lag", Length(zero=True), "Partitions: how far behind the newest one is waited for.", none=True
    ),
    Option(
        "lateness",
        "partition_timeout",
        Length(),
        "Partitions: one that has sent nothing for so long is not waited for.",
        "30 seconds",
    ),
    Option(
        "lateness",
        "allowed",
        Length(zero=True),
        "How long a late record still corrects the answers of its windows.",
        "0 seconds",
        flag="allowed-lateness",
    ),
    Option(
        "lateness",
        "max_future",
        Length(words=("auto",)),
        "A record further ahead of the stream is held until others confirm it; auto: an hour or ten windows.",
        "auto",
        none=True,
    ),
    Option("lateness", "future_support", Whole(1), "So many records that agree are believed however far ahead.", 5),
    Option(
        "lateness",
        "clock_tolerance",
        Length(zero=True),
        "A record further ahead of the clock is held until the clock reaches it.",
        "1 second",
    ),
    Option(
        "lateness",
        "harm_horizon",
        Length(zero=True, words=("auto",)),
        "How long after its pane was sealed a late record is judged; auto: ten windows, if anybody asks.",
        "auto",
        none=True,
    ),
    Option(
        "parallel",
        "pattern",
        Tree(("auto",)),
        "Who does which work, as a tree of patterns; auto: as the settings below say, or planned step by step.",
        "auto",
    ),
    Option("parallel", "max_latency", Length(), "Gather records as long as answers still come within this time."),
    Option("parallel", "splitting", Choice(SPLITTINGS, objects=True), "Who makes the partials.", "combine"),
    Option("parallel", "elastic", Flag(objects=True), "Let the degrees of both stages follow the load.", default=False),
    *ELASTIC,
    Option("parallel", "pane_degree", Whole(1, MAX_DEGREE), "Tasks of the pane stage; default: as many as Spark runs."),
    Option("parallel", "degree", Whole(1), "The most tasks of the window stage; default: as many as Spark runs."),
    Option("parallel", "window_scheduling", Choice(WINDOW_SCHEDULINGS), "How its tasks are cut.", "ranges"),
    Option("parallel", "partitioning", Choice(PARTITIONINGS), "How tasks share one key's windows.", "batch"),
    Option(
        "parallel",
        "cut_rows",
        Whole(0),
        "They share them from so many rows on, each counted once for each window that it is in.",
        2_000_000,
    ),
    Option("parallel", "ownership", Choice(OWNERSHIPS), "How they share its rows, where a skyline joins them.", "rr"),
    Option(
        "parallel", "inline_rows", Whole(0), "A window stage with no more rows than this runs in the driver.", 100_000
    ),
    Option("parallel", "sliding", Choice(("auto", *sorted(SLIDES))), "How windows slide.", "auto"),
    Option(
        "parallel",
        "processing",
        Choice(("out_of_order", "in_order")),
        "in_order: buffer records until their pane is sealed.",
        "out_of_order",
    ),
    *_sink("sink", "out", "console"),
    *_sink("late", "late", None),
    *_sink("quarantine", "quarantine", None),
    *_sink("failed", "failed", None),
    Option("run", "checkpoint", Text("checkpoint"), "The folder from which the query restarts where it was."),
    Option("run", "trigger", Length(zero=True), "How often to take a step.", "500 milliseconds"),
    Option("run", "available_now", Flag(), "Process what the source has, then end.", default=False),
    Option(
        "run",
        "flush",
        Flag(("auto",)),
        "At the end of available_now: answer open windows; auto: those that have ended by the clock, less the slack.",
        "auto",
    ),
    Option(
        "run",
        "idle_timeout",
        Length(),
        "When no record has come for so long, answer the windows that would have ended by now.",
        "1 minute",
        none=True,
    ),
    Option(
        "run",
        "emit",
        Choice(tuple(EMISSIONS), objects=True),
        "Whole answers, or changes from window to window; with live, updates or intervals. Default: full, or updates.",
    ),
    Option("run", "expiries", Flag(), "updates: also tell of records that leave because they expire.", default=True),
    Option("run", "name", Text("best-offers"), "The name of the query in Spark."),
    Option(
        "run",
        "accept_changed_code",
        Flag(),
        "Continue from the checkpoint although functions of apply or fold have changed.",
        default=False,
    ),
)

_BY_NAME: Final[Mapping[tuple[str, str], Option]] = {(o.section, o.name): o for o in OPTIONS}

MOVED: Final[Mapping[str, tuple[str, str]]] = {
    "max_future": ("lateness", "max_future"),
    "future_support": ("lateness", "future_support"),
    "allowed_lateness": ("lateness", "allowed"),
    "harm_horizon": ("lateness", "harm_horizon"),
    "processing": ("parallel", "processing"),
    "slide": ("parallel", "sliding"),
    "slide_strategy": ("parallel", "sliding"),
    "degree": ("parallel", "degree"),
    "inline_rows": ("parallel", "inline_rows"),
    "splitting": ("parallel", "splitting"),
    "pane_degree": ("parallel", "pane_degree"),
    "window_scheduling": ("parallel", "window_scheduling"),
}
"""What 0.1 had on ``start()`` and in ``[run]``, and where it is now."""


def options_of(section: str) -> tuple[Option, ...]:
    """The options of a topic, in order."""
    return tuple(option for option in OPTIONS if option.section == section)


def check(section: str, values: Mapping[str, object]) -> None:
    """Refuse values that cannot be meant, by the name of their option."""
    for name, value in values.items():
        _BY_NAME[section, name].check(value)
