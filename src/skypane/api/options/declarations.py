"""Options: everything that can be chosen about a continuous query, declared once.

The steps of the fluent interface, the options of ``skypane run``, the sections of its TOML files, the sample that
``skypane init`` writes and docs/command-line.md all come from this table, or are tested against it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from skypane.api.by_name import POLICIES
from skypane.api.options.kinds import Choice, Expressions, Flag, Length, Names, Pairs, Share, Text, Tree, Whole
from skypane.api.options.option import Option
from skypane.flow.plan import OWNERSHIPS, PARTITIONINGS, WINDOW_SCHEDULINGS
from skypane.flow.windows.emit.names import EMISSIONS
from skypane.flow.windows.slide.choice import SLIDES
from skypane.model.numbers import MOST
from skypane.tuning.elastic.elastic import CONTROLLERS, DEFAULT_CONTROLLER
from skypane.tuning.splitting.pane_strategies import SPLITTINGS
from skypane.tuning.splitting.pane_strategy import MAX_DEGREE

SINKS: Final = ("sink", "late", "quarantine", "failed", "duplicates")
QUERY_TYPES: Final = ("skyline", "top_delta", "top_k", "aggregate", "apply", "fold")
SECTIONS: Final[Mapping[str, str]] = {
    "source": "where records come from",
    "query": "the question, and the windows that it is asked of",
    "partition": "how to wait for partitions of the source",
    "lateness": "how long to wait for late records",
    "lateness.guard": "which times to believe",
    "parallel": "how many tasks share the work",
    "parallel.tuning": "to compare and to experiment",
    "sink": "where results go",
    "late": "where late records go; they are counted in any case",
    "quarantine": "where unusable records go; they are counted in any case",
    "duplicates": "where duplicates go; they are counted in any case",
    "failed": "where windows go on which a function fails; else the query ends",
    "run": "how to run",
}
"""The sections of the TOML file; a dot stands before a section within another one."""
WINDOW_KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "window": ("slide",),
    "window_rows": ("slide_rows", "ttl"),
    "live": (),
}
"""The settings that say what windows are, one of which is needed, and what goes with each."""


def _sink(section: str, where: str, default: str | None, column: str) -> tuple[Option, ...]:
    help_text = "console, discard, parquet, or another format that Spark can write."
    options = Pairs(("mergeSchema", "true"))
    chosen = "What to store of a row, in a format of Spark's; not with console, discard and parquet."
    return (
        Option(f"{section}.format", Text("parquet"), help_text, default, flag=section, value="FORMAT:PATH"),
        Option(
            f"{section}.path", Text(where), "The folder to write to, or another path that the format takes.", flag=None
        ),
        Option(f"{section}.options", options, "Options of Spark's writer of that format.", flag=f"{section}-option"),
        Option(f"{section}.columns", Expressions(column), chosen, flag=f"{section}-column"),
    )


_decides = "elastic: the controller that decides degrees."
_period = "elastic: how often the controller decides."
_dwell = "elastic: scale down only after fewer tasks would have sufficed for so many periods."
ELASTIC: Final[tuple[Option, ...]] = (
    Option("parallel.min_degree", Whole(1, MAX_DEGREE), "elastic: the fewest tasks of a stage.", 1, of_elastic=True),
    Option(
        "parallel.max_degree",
        Whole(1, MAX_DEGREE),
        "elastic: the most tasks of a stage; default: as many as Spark may run at a time.",
        of_elastic=True,
    ),
    Option("parallel.controller", Choice(tuple(CONTROLLERS)), _decides, DEFAULT_CONTROLLER, of_elastic=True),
    Option("parallel.period", Length(), _period, "2.5 seconds", of_elastic=True),
    Option("parallel.dwell", Whole(1, MAX_DEGREE), _dwell, 2, of_elastic=True),
)
OPTIONS: Final[tuple[Option, ...]] = (
    Option(
        "source.format",
        Text("skypane-traffic"),
        "Spark's name of the source: skypane-traffic, skypane-replay, parquet, kafka, ...",
        needed=True,
        flag="source",
    ),
    Option("source.path", Text("records"), "The path of a file source."),
    Option("source.schema", Text("ts timestamp, price double"), "The columns of a file source, as in SQL."),
    Option("source.options", Pairs(("maxFilesPerTrigger", "1")), "Options of the source.", flag="source-option"),
    Option("query.type", Choice(QUERY_TYPES), "What to ask of a window.", needed=True),
    Option("query.time", Text("ts"), "The column with the event time.", needed=True),
    Option("query.key", Names("city"), "Key columns: each key has its own answers."),
    Option("query.partition", Text("sensor"), "The column that names a record's partition of the source."),
    Option("query.distinct_by", Names("offer_id"), "The columns that make a record's id: duplicates are left out."),
    Option("query.within", Length(zero=True), "distinct_by: how far apart the times of duplicates are at most."),
    Option("query.window", Length(), "The length of the windows; this, window_rows or live is needed."),
    Option("query.slide", Length(), "How often a window starts; without it windows tumble."),
    Option("query.window_rows", Whole(1, MOST), "Instead of window: so many records of a key make a window."),
    Option("query.slide_rows", Whole(1, MOST), "window_rows: after how many records the next window starts."),
    Option("query.ttl", Length(), "window_rows: forget a key that has had no record for so long, in event time."),
    Option("query.live", Length(), "Instead of window: the answer at every instant, from records no older than this."),
    Option("query.minimize", Names("price"), "skyline, top_delta: attributes of which less is better."),
    Option("query.maximize", Names("rating"), "skyline, top_delta: attributes of which more is better."),
    Option("query.delta", Whole(1), "top_delta: how many records."),
    Option("query.k", Whole(1), "top_k: how many records."),
    Option("query.score", Text("price / rating"), "top_k: a SQL expression, more is better."),
    Option(
        "query.aggregate",
        Pairs(("p", "mean(price)"), texts=True),
        "aggregate: names and functions of SQL expressions.",
    ),
    Option("query.function", Text("my_module:my_function"), "apply: a function; fold: an sp.Fold, or a class."),
    Option(
        "query.schema",
        Text("median double, n long"),
        "apply: the columns that the function returns, as in SQL.",
        flag="function-schema",
    ),
    Option(
        "query.emit",
        Choice(tuple(EMISSIONS), objects=True),
        "Whole answers, or changes from window to window; with live, updates or intervals. Default: full, or updates.",
    ),
    Option("query.expiries", Flag(), "updates: also send records that leave because they expire.", default=True),
    Option("partition.across", Choice(("min", "max")), "Wait for the slowest partition, or follow the newest.", "min"),
    Option("partition.max_lag", Length(zero=True), "A lagging partition delays answers by at most this.", none=True),
    Option(
        "partition.timeout",
        Length(),
        "Ignore a partition that has sent nothing for so long.",
        "30 seconds",
        flag="partition-timeout",
    ),
    Option(
        "lateness.policy",
        Choice(tuple(POLICIES), objects=True),
        "The policy that decides how long to wait.",
        "kslack",
        flag="lateness",
        value="NAME:SETTING",
    ),
    Option("lateness.delay", Length(zero=True), "fixed_delay: how long to wait.", of_policy=True),
    Option("lateness.target", Share(), "drop_ratio, harm: the share that may be lost.", of_policy=True),
    Option("lateness.initial_slack", Length(zero=True), "The slack to begin with; not fixed_delay.", of_policy=True),
    Option(
        "lateness.max_slack",
        Length(zero=True, words=("auto",)),
        "The longest slack; auto: ten windows, at least a minute; not fixed_delay.",
        none=True,
        of_policy=True,
    ),
    Option("lateness.memory", Length(), "kslack: after how much stream time a delay is forgotten.", of_policy=True),
    Option(
        "lateness.allowed",
        Length(zero=True),
        "How long a late record still corrects the answers of its windows.",
        "0 seconds",
        flag="allowed-lateness",
    ),
    Option(
        "lateness.harm_horizon",
        Length(zero=True, words=("auto",)),
        "How long after its pane was sealed a late record is judged; auto: ten windows, where the verdict is used.",
        "auto",
        none=True,
    ),
    Option(
        "lateness.guard.max_future",
        Length(words=("auto",)),
        "Hold a record further ahead of the stream until others confirm it; auto: an hour or ten windows.",
        "auto",
        none=True,
    ),
    Option(
        "lateness.guard.max_past",
        Length(words=("auto",)),
        "Quarantine a record further behind the watermark; auto: one before 1990, decades before all others.",
        "auto",
        none=True,
    ),
    Option(
        "lateness.guard.support",
        Whole(1),
        "Accept times however far ahead once so many records agree.",
        5,
        flag="future-support",
    ),
    Option(
        "lateness.guard.clock_tolerance",
        Length(zero=True),
        "Hold a record further ahead of the clock until the clock reaches it.",
        "1 second",
    ),
    Option(
        "parallel.degree", Whole(1, MAX_DEGREE), "The most tasks of the window stage; default: as many as Spark runs."
    ),
    Option("parallel.elastic", Flag(objects=True), "Let the degrees of both stages follow the load.", default=False),
    *ELASTIC,
    Option("parallel.max_latency", Length(), "Gather records as long as answers still come within this time."),
    Option(
        "parallel.pattern",
        Tree(("auto",)),
        "How tasks share the work, as a tree of patterns; auto: by the other settings, or planned step by step.",
        "auto",
    ),
    Option(
        "parallel.tuning.splitting", Choice(SPLITTINGS, objects=True), "Which task makes which partials.", "combine"
    ),
    Option(
        "parallel.tuning.pane_degree",
        Whole(1, MAX_DEGREE),
        "The most tasks of the pane stage; default: as many as Spark runs.",
    ),
    Option(
        "parallel.tuning.window_scheduling",
        Choice(WINDOW_SCHEDULINGS),
        "How the window stage is split into tasks.",
        "ranges",
    ),
    Option("parallel.tuning.partitioning", Choice(PARTITIONINGS), "How tasks share one key's windows.", "batch"),
    Option(
        "parallel.tuning.ownership", Choice(OWNERSHIPS), "How tasks share one key's rows, where a skyline joins.", "rr"
    ),
    Option(
        "parallel.tuning.cut_rows",
        Whole(0),
        "Tasks share a key from so many rows on, each counted once for each window that it is in.",
        2_000_000,
    ),
    Option(
        "parallel.tuning.inline_rows",
        Whole(0),
        "A window stage with no more rows than this runs in the driver.",
        100_000,
    ),
    Option(
        "parallel.tuning.sliding",
        Choice(("auto", *sorted(SLIDES))),
        "How windows slide; another choice needs a new checkpoint.",
        "auto",
    ),
    Option(
        "parallel.tuning.processing",
        Choice(("out_of_order", "in_order")),
        "in_order: buffer records until their pane is sealed; another choice needs a new checkpoint.",
        "out_of_order",
    ),
    *_sink("sink", "out", "console", "window.start AS window_start"),
    *_sink("late", "late", None, "CAST(delay AS STRING) AS delay"),
    *_sink("quarantine", "quarantine", None, "reason"),
    *_sink("failed", "failed", None, "window.start AS window_start"),
    *_sink("duplicates", "duplicates", None, "CAST(ts AS STRING) AS ts"),
    Option("run.checkpoint", Text("checkpoint"), "The folder from which the query restarts where it was."),
    Option("run.trigger", Length(zero=True), "How often to take a step.", "500 milliseconds"),
    Option("run.available_now", Flag(), "Process what the source has, then end.", default=False),
    Option(
        "run.flush",
        Flag(("auto",)),
        "At the end of available_now: answer open windows; auto: those that have ended by the clock, less the slack.",
        "auto",
    ),
    Option(
        "run.idle_timeout",
        Length(),
        "When no record has come for so long, answer the windows that would have ended by now.",
        "1 minute",
        none=True,
    ),
    Option("run.name", Text("best-offers"), "The name of the query in Spark."),
    Option(
        "run.accept_changed_code",
        Flag(),
        "Continue from the checkpoint although functions of apply or fold have changed.",
        default=False,
    ),
)

_BY_PATH: Final[Mapping[str, Option]] = {option.path: option for option in OPTIONS}


def option_at(path: str) -> Option:
    """The option with a path such as ``lateness.guard.support``."""
    return _BY_PATH[path]


def options_of(section: str) -> tuple[Option, ...]:
    """The options of a section, in order; not those of the sections within it."""
    return tuple(option for option in OPTIONS if option.section == section)


def check(section: str, values: Mapping[str, object]) -> None:
    """Refuse values that are not allowed, by the name of their option."""
    for name, value in values.items():
        _BY_PATH[f"{section}.{name}"].check(value)
