"""The manifest: every field of the state is stored, each in its part of the file."""

from __future__ import annotations

import json
from dataclasses import MISSING, fields
from pathlib import Path

from skypane.flow.latency import PaneClock, PaneRun
from skypane.flow.reports import StateRows
from skypane.flow.shares import GroupRange
from skypane.flow.state import Totals
from skypane.lateness.policy import Judgement
from skypane.lateness.progress import Progress
from skypane.model.ledger import Ledger
from skypane.model.panes import PaneRange
from skypane.spark.store.files import FileRef
from skypane.spark.store.formats import FORMAT
from skypane.spark.store.manifest import Manifest, OutputRows, SparkState, StoredPart
from skypane.spark.store.writers import Written
from skypane.tuning.density import Density
from skypane.tuning.elastic.elastic_state import ElasticState
from skypane.tuning.elastic.loops import LoopState
from skypane.tuning.planner.cost_model import CostModel
from skypane.tuning.splitting.batch_plan import RoutingState
from skypane.tuning.tuner import TuningState

PART = StoredPart(GroupRange(0, 9), FileRef("a.arrow", 1, 2, 3), {4: 5}, 6, PaneRange(7, 8), 9)
STATE = SparkState(
    progress=Progress(t_max_us=5, punctuation_us=3, policy_state={"slack_us": 2}),
    tuning=TuningState(
        routing=RoutingState({"name": "own", "of_others": [1]}, {1: 2}),
        costs=CostModel(steps=3),
        elastic=ElasticState(LoopState(2, 3), cut_us=1, t_max_us=None),
        density=Density(5, 2),
    ),
    rows=StateRows(panes=(PART,), counters=(PART,)),
    ledger=Ledger(accepted=1, quarantined_by_reason={"time": 2}),
    judged=Judgement(5, 1),
    emitted_at=8,
    totals=Totals(3, 4, Judgement(7, 2)),
    clock=PaneClock((PaneRun(1, 2, 3, 4),)),
)
OUTPUTS = {"results": OutputRows("/out", (Written("/out/_staging/a.parquet", 4, 5, 6),), 7)}
MANIFEST = Manifest(step=7, batch_id=6, kind="batch", state=STATE, outputs=OUTPUTS)


def test_every_field_of_the_state_comes_back() -> None:
    empty = SparkState.start(Progress(), TuningState())
    for each in fields(STATE):
        assert (each.default, each.default_factory) == (MISSING, MISSING), f"{each.name} could be read as empty"
        assert getattr(STATE, each.name) != getattr(empty, each.name), f"{each.name} would not be missed"
    assert Manifest.from_json(json.loads(json.dumps(MANIFEST.to_json()))) == MANIFEST


def test_a_manifest_that_was_stored_stays_readable() -> None:
    """If this fails, a field was renamed or moved: that takes a new format, with a migration."""
    stored = Path(__file__).parents[2] / "fixtures" / f"manifest-{FORMAT}.json"
    assert Manifest.from_json(json.loads(stored.read_text())) == MANIFEST


def test_what_concerns_the_whole_query_is_outside_its_questions() -> None:
    body = MANIFEST.to_json()
    assert {*body} == {"step", "batch_id", "kind", "progress", "tuning", "questions"}
    assert {*body["tuning"]} == {each.name for each in fields(TuningState)}
    assert {*body["questions"]} == {""}
    stored = [*body["questions"][""], "progress", "tuning"]
    assert sorted(stored) == sorted(["outputs", *(each.name for each in fields(STATE))])
