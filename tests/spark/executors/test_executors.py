"""Executors follow degrees: who is asked for, released, warmed, counted; on a cluster that is made up."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from skypane.model.errors import OptionError
from skypane.spark.backlog import backlog_us
from skypane.spark.executors import choice, requested
from skypane.spark.executors.allocated import AllocatedExecutors
from skypane.spark.executors.base import GivenSlots
from skypane.spark.executors.cluster import Executor, executors_for
from skypane.spark.executors.requested import RequestedExecutors
from skypane.tuning.elastic.elastic import Elastic

WAIT_S = 60


class Context:
    """A session."""


class MadeUp:
    """A cluster whose executors come when the test says so."""

    idle_timeout = "5s"

    def __init__(self, alive: int = 1, cores: int = 1) -> None:
        self.context: Any = Context()
        self.cores = cores
        self.alive = [self.executor(number) for number in range(alive)]
        self.asked: list[int] = []
        self.busy: set[str] = set()
        self.is_stopped = False
        self.answers = True
        """Whether whoever manages the cluster does; a master may be down for a while."""

    def executor(self, number: int) -> Executor:
        return Executor(str(number), "127.0.0.1", self.cores)

    def executors(self) -> list[Executor]:
        if self.is_stopped:
            raise RuntimeError("no session")
        return list(self.alive)

    def cores_per_executor(self) -> int:
        return self.cores

    def ask_for(self, total: int) -> bool:
        self.asked.append(total)
        return self.answers

    def release(self, executors: Iterable[Executor]) -> list[str]:
        if not self.answers:
            raise RuntimeError("no master\nand a long stack")
        return [executor.id for executor in executors if executor.id not in self.busy]


class Warmer:
    """Warms when the test lets it."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.begun = threading.Event()
        self.go_on = threading.Event()

    def __call__(self, executors: Iterable[Executor]) -> None:
        self.seen += [executor.id for executor in executors]
        self.begun.set()
        assert self.go_on.wait(WAIT_S)


@pytest.fixture
def opened() -> Iterator[list[RequestedExecutors]]:
    made: list[RequestedExecutors] = []
    yield made
    for executors in made:
        executors.close()


def wait_until(there: Any) -> None:
    changed = threading.Event()
    for _ in range(WAIT_S * 100):
        if there():
            return
        changed.wait(0.01)
    raise AssertionError("it did not come")


def test_a_new_executor_counts_when_it_is_warm(opened: list[RequestedExecutors]) -> None:
    cluster: Any = MadeUp(alive=1)
    warmer = Warmer()
    executors = RequestedExecutors(cluster, warmer)
    opened.append(executors)
    executors.scale_to(3)
    assert cluster.asked == [3]
    cluster.alive += [cluster.executor(1), cluster.executor(2)]
    assert warmer.begun.wait(WAIT_S)
    assert executors.count() == 3
    assert executors.ready() == executors.slots() == 1
    warmer.go_on.set()
    wait_until(lambda: executors.ready() == 3)
    assert sorted(warmer.seen) == ["1", "2"]
    executors.scale_to(3)
    assert cluster.asked == [3]


def test_fewer_are_released_at_once_and_never_one_at_work(opened: list[RequestedExecutors]) -> None:
    cluster: Any = MadeUp(alive=4)
    executors = RequestedExecutors(cluster, lambda cold: None)
    opened.append(executors)
    cluster.busy = {"3"}
    executors.scale_to(2)
    assert cluster.asked == [2]
    # Executor 3 is at work: it is released when it is not.
    assert executors.count() == 3
    cluster.busy = set()
    wait_until(lambda: executors.count() == 2)
    assert executors.ready() == 2


def test_executors_have_cores() -> None:
    assert [executors_for(degree, 4) for degree in (1, 4, 5, 8, 9)] == [1, 1, 2, 2, 3]


def test_queries_of_a_session_want_the_sum_and_give_back_what_there_was() -> None:
    cluster: Any = MadeUp(alive=2)
    one, two = (RequestedExecutors(cluster, lambda cold: None) for _ in range(2))
    one.scale_to(3)
    two.scale_to(2)
    assert cluster.asked[-1] == 5
    one.close()
    assert cluster.asked[-1] == 2
    two.scale_to(4)
    assert cluster.asked[-1] == 4
    two.close()
    assert cluster.asked[-1] == 2


def test_what_there_was_is_what_the_first_of_them_found() -> None:
    cluster: Any = MadeUp(alive=1)
    one = RequestedExecutors(cluster, lambda cold: None)
    one.scale_to(3)
    cluster.alive += [cluster.executor(1), cluster.executor(2)]
    two = RequestedExecutors(cluster, lambda cold: None)
    two.scale_to(2)
    one.close()
    two.close()
    assert cluster.asked[-1] == 1
    # A query that starts when nobody is left finds what there is then.
    cluster.alive = [cluster.executor(number) for number in range(3, 5)]
    three = RequestedExecutors(cluster, lambda cold: None)
    three.scale_to(5)
    three.close()
    assert cluster.asked[-1] == 2


def test_a_session_that_was_stopped_is_no_error() -> None:
    cluster: Any = MadeUp()
    executors = RequestedExecutors(cluster, lambda cold: None)
    executors.scale_to(1)
    cluster.is_stopped = True
    executors._watcher.join(WAIT_S)
    assert not executors._watcher.is_alive()
    executors.close()


def test_what_was_not_heard_is_asked_again(opened: list[RequestedExecutors]) -> None:
    """A master that is away, or has just come back: Spark says that it could not tell it."""
    cluster: Any = MadeUp(alive=1)
    executors = RequestedExecutors(cluster, lambda cold: None)
    opened.append(executors)
    cluster.answers = False
    executors.scale_to(3)
    wait_until(lambda: len(cluster.asked) > 2)
    cluster.answers = True
    heard = len(cluster.asked)
    wait_until(lambda: len(cluster.asked) > heard)
    assert {*cluster.asked} == {3}


def test_a_cluster_that_does_not_answer_ends_neither_the_query_nor_the_watch(
    opened: list[RequestedExecutors], caplog: pytest.LogCaptureFixture
) -> None:
    cluster: Any = MadeUp(alive=3)
    executors = RequestedExecutors(cluster, lambda cold: None)
    opened.append(executors)
    cluster.answers = False
    executors.scale_to(1)
    executors.scale_to(1)
    assert caplog.text.count("The cluster does not answer") == 1
    assert "long stack" not in caplog.text
    cluster.answers = True
    wait_until(lambda: executors.count() == 1)


def test_a_master_that_has_forgotten_how_many_there_should_be_is_told(opened: list[RequestedExecutors]) -> None:
    """One that was restarted gives as many as there is room for; those that are released it would replace."""
    cluster: Any = MadeUp(alive=1)
    executors = RequestedExecutors(cluster, lambda cold: None)
    opened.append(executors)
    executors.scale_to(1)
    assert cluster.asked == [1]
    cluster.alive += [cluster.executor(1), cluster.executor(2)]
    wait_until(lambda: executors.count() == 1)
    assert cluster.asked[1:]
    assert {*cluster.asked} == {1}


def test_executors_that_are_gone_are_forgotten(opened: list[RequestedExecutors]) -> None:
    cluster: Any = MadeUp(alive=3)
    executors = RequestedExecutors(cluster, lambda cold: None)
    opened.append(executors)
    executors.scale_to(1)
    assert executors.count() == 1
    cluster.alive = cluster.alive[:1]
    wait_until(lambda: executors._warm == {"0"} and not executors._released)


def test_one_that_cannot_be_warmed_counts_all_the_same(
    opened: list[RequestedExecutors], caplog: pytest.LogCaptureFixture
) -> None:
    def fails(cold: Iterable[Executor]) -> None:
        raise RuntimeError("lost\nand a long stack")

    cluster: Any = MadeUp(alive=0)
    executors = RequestedExecutors(cluster, fails)
    opened.append(executors)
    executors.scale_to(1)
    cluster.alive.append(cluster.executor(7))
    wait_until(lambda: "7" in executors._warm)
    assert "New executors could not be warmed: lost" in caplog.text
    assert "long stack" not in caplog.text


def test_with_dynamic_allocation_only_tasks_follow() -> None:
    cluster: Any = MadeUp(alive=2, cores=2)
    executors = AllocatedExecutors(cluster)
    executors.scale_to(9)
    executors.close()
    assert cluster.asked == []
    assert executors.ready() is None
    assert (executors.count(), executors.slots()) == (2, 4)
    assert executors.describe().endswith("adds executors while tasks wait, releases those idle for 5s")


def session(master: str, **conf: str) -> Any:
    names = {name.replace("_", ".") if "." not in name else name: value for name, value in conf.items()}
    context = SimpleNamespace(
        master=master,
        defaultParallelism=4,
        _jsc=SimpleNamespace(sc=lambda: None),
        _jvm=None,
        getConf=lambda: SimpleNamespace(get=names.get),
    )
    return SimpleNamespace(sparkContext=context)


ALLOCATION = "spark.dynamicAllocation."


def test_who_follows_depends_on_how_spark_runs() -> None:
    assert "the 4 slots of this machine" in choice.explain_executors(session("local[4]"))
    assert choice.explain_executors(session("spark://host:7077")) == requested.EXPLAINED
    allocating = session("yarn", **{f"{ALLOCATION}enabled": "true"})
    assert choice.explain_executors(allocating).endswith("releases those idle for 60s")
    definition: Any = None
    assert choice.executors_of(session("local[4]"), definition, Elastic(), 4) == GivenSlots(4)
    assert choice.executors_of(session("spark://host:7077"), definition, None, 4) == GivenSlots(4)


def test_how_many_tasks_there_may_be() -> None:
    assert choice.degree_limit(session("local[4]"), Elastic()) == 4
    assert choice.degree_limit(session("local[4]"), Elastic(max_degree=16)) == 4
    assert choice.degree_limit(session("local[4]"), Elastic(max_degree=3)) == 3
    assert choice.degree_limit(session("spark://host:7077"), Elastic(max_degree=9)) == 9
    assert choice.degree_limit(session("spark://host:7077", spark_cores_max="12"), Elastic()) == 12
    allocating = {f"{ALLOCATION}enabled": "true", f"{ALLOCATION}maxExecutors": "5", "spark.executor.cores": "2"}
    assert choice.degree_limit(session("yarn", **allocating), Elastic()) == 10
    # Whatever is least holds: more tasks would wait for executors that never come.
    assert choice.degree_limit(session("spark://host:7077", spark_cores_max="64", **allocating), Elastic()) == 10
    assert choice.degree_limit(session("spark://host:7077", spark_cores_max="6", **allocating), Elastic()) == 6
    whole = session("spark://host:7077", spark_cores_max="7", spark_executor_cores="4")
    assert choice.degree_limit(whole, Elastic(max_degree=16)) == 4
    with pytest.raises(OptionError, match=r"no limit on its number of tasks.*max_degree="):
        choice.degree_limit(session("yarn"), Elastic())
    with pytest.raises(OptionError, match="min_degree=8 is more than the 4 tasks that Spark can run"):
        choice.degree_limit(session("local[4]"), Elastic(min_degree=8))


def progress(*sources: tuple[str | None, str | None, str | None], duration_ms: int = 500) -> Any:
    told = [SimpleNamespace(startOffset=a, endOffset=b, latestOffset=c) for a, b, c in sources]
    return SimpleNamespace(sources=told, batchDuration=duration_ms)


def test_the_backlog_is_the_time_that_it_would_take() -> None:
    kafka = ('{"t":{"0":10,"1":10}}', '{"t":{"0":20,"1":20}}', '{"t":{"0":50,"1":30}}')
    assert backlog_us(progress(kafka)) == 40 / 20 * 500_000
    # Numbers that only one of the offsets has count nothing, neither does what is not a number.
    ours = ('{"rows":0,"began_us":5,"name":"x"}', '{"rows":100,"began_us":5,"name":"x"}', '{"rows":150}')
    assert backlog_us(progress(ours)) == 250_000
    assert backlog_us(progress(kafka, ours)) == 90 / 120 * 500_000
    assert backlog_us(progress((kafka[0], kafka[1], kafka[1]))) == 0.0


@pytest.mark.parametrize(
    "told",
    [
        None,
        progress(),
        progress(('{"logOffset":1}', '{"logOffset":2}', None)),
        progress((None, '{"rows":1}', '{"rows":2}')),
        progress(('{"rows":1}', '{"rows":1}', '{"rows":2}')),
        progress(("1", "2", "3")),
        progress(("{", "{", "{")),
        progress(('{"a":1}', '{"a":2}', '{"b":3}')),
    ],
)
def test_a_source_that_does_not_tell(told: Any) -> None:
    assert backlog_us(told) is None
