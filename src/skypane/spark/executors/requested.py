"""RequestedExecutors: on a cluster without dynamic allocation, ask for executors and release them as degrees change.

Nothing of a query lives on an executor: state, partials and answers are files. So releasing one moves nothing, and
between two steps it interrupts nothing. A new one is warmed before it counts: its Python starts, loads the compiled
kernels, and only then are there tasks for it.

Whoever manages the cluster may be away for a while, as a master that is restarted: steps go on with the executors that
there are, and it is asked again until it answers.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from weakref import WeakKeyDictionary

from pyspark import SparkContext

from skypane.spark.executors.cluster import Cluster, Executor, executors_for

_log = logging.getLogger("skypane")
_LOOK_EVERY_S = 0.25
EXPLAINED = "skypane asks for executors and releases them; a new one is warm before it counts"
_requested: WeakKeyDictionary[SparkContext, dict[int, int]] = WeakKeyDictionary()
"""How many executors each query requests: queries of one session share them, and request the sum."""
_had: WeakKeyDictionary[SparkContext, int] = WeakKeyDictionary()
"""How many a session had before the first of its queries asked: later ones find what the others have asked for."""
_lock = threading.RLock()


class RequestedExecutors:
    """Executors that follow the degrees of one query."""

    def __init__(self, cluster: Cluster, warm_up: Callable[[Iterable[Executor]], None]) -> None:
        self._cluster = cluster
        self._warm_up = warm_up
        self._cores = cluster.cores_per_executor()
        # Those that are there from the beginning have run the check of the workers.
        self._warm = {executor.id for executor in cluster.executors()}
        with _lock:
            _had.setdefault(cluster.context, len(self._warm))
        self._released: set[str] = set()
        self._asked: int | None = None
        self._unheard = False
        self._closed = threading.Event()
        self._watcher = threading.Thread(target=self._watch, name="skypane-executors", daemon=True)
        self._watcher.start()

    def describe(self) -> str:
        """One line for ``explain()``."""
        return EXPLAINED

    def slots(self) -> int:
        """The slots of warm executors."""
        return max(1, sum(executor.cores for executor in self._alive() if executor.id in self._warm))

    def ready(self) -> int | None:
        """The slots that tasks can use now: those of warm executors."""
        return self.slots()

    def count(self) -> int | None:
        """Also those that are still cold."""
        return len(self._alive())

    def scale_to(self, degree: int) -> None:
        """Ask for more, or release those that no task needs."""
        with _lock:
            wishes = _requested.setdefault(self._cluster.context, {})
            wishes[id(self)] = executors_for(degree, self._cores)
            self._try_to_have(sum(wishes.values()))

    def close(self) -> None:
        """The session gets back as many as it had, unless other queries decide about them."""
        self._closed.set()
        self._watcher.join(_LOOK_EVERY_S * 20)  # it may be warming somebody, which nobody needs any more
        with _lock, suppress(Exception):  # the session may have been stopped
            wishes = _requested.get(self._cluster.context, {})
            asked = wishes.pop(id(self), None) is not None
            had = 0 if wishes else _had.pop(self._cluster.context, 0)
            if asked:
                self._have(sum(wishes.values()) or max(1, had))

    def _try_to_have(self, total: int) -> None:
        """A cluster that cannot be asked now ends no query; the watch asks again."""
        try:
            self._have(total)
        except Exception as error:
            self._asked = None
            if self._cluster.is_stopped:
                raise
            if not self._unheard:
                reason = str(error).strip().partition("\n")[0]
                _log.warning("The cluster does not answer, executors stay as they are meanwhile: %s", reason)
            self._unheard = True
        else:
            self._unheard = False

    def _have(self, total: int) -> None:
        """Request the new number before releasing executors, so that the cluster does not replace them."""
        alive = self._alive()
        # A master that was restarted has forgotten how many there should be: surplus executors show it.
        if total != self._asked or len(alive) > total:
            self._asked = total if self._cluster.ask_for(total) else None
        if len(alive) > total:
            # Cold ones first, since they are of no use yet.
            cold_first = sorted(alive, key=lambda one: (one.id not in self._warm, one.id), reverse=True)
            self._released.update(self._cluster.release(cold_first[: len(alive) - total]))

    def _alive(self) -> list[Executor]:
        """Without those that are about to end; those that have ended are forgotten."""
        listed = self._cluster.executors()
        self._released.intersection_update({executor.id for executor in listed})
        return [executor for executor in listed if executor.id not in self._released]

    def _watch(self) -> None:
        """Warm up new executors, requested or in place of one that died; release those that came too late."""
        while not self._closed.wait(_LOOK_EVERY_S) and not self._cluster.is_stopped:
            with suppress(Exception):  # of a session that is being stopped; of any other the next look may succeed
                alive = self._tidied()
                self._warm.intersection_update({executor.id for executor in alive})
                self._make_warm([executor for executor in alive if executor.id not in self._warm])

    def _tidied(self) -> list[Executor]:
        """The executors that remain after releasing those beyond the requested number."""
        with _lock:
            wishes = _requested.get(self._cluster.context, {})
            if id(self) in wishes:
                self._try_to_have(sum(wishes.values()))
            return self._alive()

    def _make_warm(self, cold: list[Executor]) -> None:
        try:
            if cold:
                self._warm_up(cold)
        except Exception as error:  # noqa: BLE001 - they may have died; one that lives counts, be it cold
            _log.warning("New executors could not be warmed: %s", str(error).strip().partition("\n")[0])
        self._warm.update(executor.id for executor in cold)
