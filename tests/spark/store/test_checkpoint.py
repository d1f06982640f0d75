"""The checkpoint folder without Spark: whose it is, when it begins to be somebody's, and what is never touched."""

from __future__ import annotations

import json
import shutil
import zlib
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import skypane as sp
from skypane.flow.reports import StateRows
from skypane.flow.shares import GroupRange
from skypane.flow.state import StepState
from skypane.lateness.future_guard import FutureGuard
from skypane.lateness.punctuator import Punctuator
from skypane.model.columns import KEY_GROUPS
from skypane.queries.aggregates import Aggregates
from skypane.spark.store.checkpoint import Checkpoint
from skypane.spark.store.files import FileRef
from skypane.spark.store.folders import MARKER
from skypane.spark.store.formats import FORMAT, MIGRATIONS, Body, FileKind
from skypane.spark.store.manifest import Manifest, OutputRows, SparkState, StoredPart
from skypane.spark.store.writers import ArrowWriter
from skypane.tuning.density import Density
from skypane.tuning.tuner import TuningState
from tests.support.crashes import Crash, Crashed

FORMAT_3 = Path(__file__).parents[2] / "fixtures" / "checkpoint-v3" / "checkpoint"
"""Written by the last version with format 3: a skyline of three batches, with a window open."""
ONE, OTHER = {"query": "one"}, {"query": "other"}


def start() -> SparkState:
    return StepState.start(Punctuator(sp.KSlack(), FutureGuard(None), None).start(), TuningState())


def read(path: Path) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(path.read_text())["body"]
    return body


def reseal(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    body = read(path)
    change(body)
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    path.write_text(json.dumps({"crc32": zlib.crc32(text.encode()), "body": body}))


def opened(folder: Path, query: dict[str, Any], *, claim: bool = True) -> Checkpoint:
    checkpoint = Checkpoint(folder)
    try:
        checkpoint.open(query, start())
    except BaseException:
        checkpoint.close()
        raise
    if claim:
        checkpoint.claim()
    return checkpoint


def used(folder: Path, query: dict[str, Any], *, claim: bool = True) -> str:
    """Open, close, and the id that the query had meanwhile."""
    checkpoint = opened(folder, query, claim=claim)
    checkpoint.close()
    return checkpoint.query_id


def test_nothing_happens_before_it_is_opened(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path / "c")
    checkpoint.close()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_others_is_not_touched(tmp_path: Path) -> None:
    names = ["state/terraform.tfstate", "scratch/0000000001-x/chapter1.tex", "manifests/.hidden", "state/a.arrow"]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("precious")
    with pytest.raises(sp.OptionError, match=r"manifests, scratch, state.*Nothing in it was touched"):
        opened(tmp_path, ONE)
    assert sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file()) == sorted(names)


def test_files_that_others_put_into_a_checkpoint_stay(tmp_path: Path) -> None:
    used(tmp_path, ONE)
    for name in ("notes.json", "state/notes", "scratch/notes", "manifests/notes.json", "manifests/.notes"):
        (tmp_path / name).write_text("mine")
    (tmp_path / "state" / "garbage.arrow").write_text("")
    (tmp_path / "scratch" / "0000000001-x").mkdir()
    used(tmp_path, ONE)
    left = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if "notes" in path.name)
    assert left == ["manifests/.notes", "manifests/notes.json", "notes.json", "scratch/notes", "state/notes"]
    assert not (tmp_path / "state" / "garbage.arrow").exists()
    assert not (tmp_path / "scratch" / "0000000001-x").exists()


def test_a_start_that_failed_leaves_the_folder_free(tmp_path: Path) -> None:
    used(tmp_path, ONE, claim=False)
    assert not (tmp_path / "query.json").exists()
    other = used(tmp_path, OTHER)
    assert used(tmp_path, OTHER) == other
    # Claimed, but Spark took no batch: what it may have found out about its source is nobody's.
    (tmp_path / "spark" / "sources").mkdir(parents=True)
    again = used(tmp_path, ONE)
    assert again != other
    assert not (tmp_path / "spark").exists()
    plan_batch(tmp_path, 0)
    with pytest.raises(sp.CheckpointError, match="belongs to a different query:\n  query: was 'one', now 'other'"):
        opened(tmp_path, OTHER)
    assert used(tmp_path, ONE) == again


def test_aggregates_in_another_order_are_another_query(tmp_path: Path) -> None:
    """Partials know them by their place."""
    asked = {"low": "min(a)", "high": "max(a)"}
    one, other = (
        {"query": Aggregates.of({name: asked[name] for name in names}).describe()}
        for names in (("low", "high"), ("high", "low"))
    )
    known = used(tmp_path, one)
    plan_batch(tmp_path, 0)
    with pytest.raises(sp.CheckpointError, match=r"order of aggregates: was \['low', 'high'\], now \['high', 'low'\]"):
        opened(tmp_path, other)
    assert used(tmp_path, one) == known
    with pytest.raises(sp.CheckpointError, match="order of aggregates"):
        Checkpoint(tmp_path).compare(other)


def test_it_remembers_where_its_sinks_write(tmp_path: Path) -> None:
    checkpoint = opened(tmp_path, ONE)
    outputs = {"results": OutputRows("/a", (), 1), "late": OutputRows(None, (), 0)}
    commit(checkpoint, Manifest(step=1, batch_id=-1, kind="flush", state=start(), outputs=outputs))
    checkpoint.close()
    checkpoint = opened(tmp_path, ONE, claim=False)
    assert checkpoint.last is not None
    assert checkpoint.last.shown("results", "/a") == 1
    assert checkpoint.last.shown("results", "/b") == checkpoint.last.shown("failed", "/a") == 0
    checkpoint.close()


def test_a_prepared_step_stays_with_all_of_its_files(tmp_path: Path) -> None:
    checkpoint = opened(tmp_path / "old", ONE)
    take_step(tmp_path / "old", checkpoint, 1, commits=False)
    checkpoint.close()
    # The folder may be moved between two runs.
    folder = (tmp_path / "old").rename(tmp_path / "new")
    checkpoint = Checkpoint(folder)
    assert checkpoint.open(ONE, start()).step == 0
    prepared = checkpoint.pending
    assert prepared is not None
    assert [file.table().to_pydict() for file in prepared.row_files] == [{"n": [1]}]
    assert [path.name for path in (folder / "state").iterdir()] == ["1.arrow"]
    checkpoint.commit(prepared)
    checkpoint.clean()
    assert checkpoint.pending is None
    assert list((folder / "scratch").iterdir()) == []
    checkpoint.close()
    again = Checkpoint(folder)
    assert again.open(ONE, start()).step == 1
    assert again.pending is None
    again.close()


@pytest.mark.parametrize(
    ("change", "message"),
    [(Path.unlink, "is missing"), (lambda path: path.write_bytes(path.read_bytes()[:-1] + b"x"), "is damaged")],
)
def test_rows_of_a_prepared_step_that_were_lost_or_damaged_are_refused(
    tmp_path: Path, change: Callable[[Path], object], message: str
) -> None:
    checkpoint = opened(tmp_path, ONE)
    take_step(tmp_path, checkpoint, 1, commits=False)
    checkpoint.close()
    change(next((tmp_path / "scratch").rglob("rows-*.arrow")))
    checkpoint = opened(tmp_path, ONE)
    assert checkpoint.pending is not None
    with pytest.raises(sp.CheckpointError, match=rf"rows-.*\.arrow.*{message}.*Restore"):
        checkpoint.pending.row_files[0].check()
    checkpoint.close()


def test_a_prepared_step_that_does_not_follow_the_last_one_is_refused(tmp_path: Path) -> None:
    checkpoint = opened(tmp_path, ONE)
    take_step(tmp_path, checkpoint, 2, commits=False)
    checkpoint.close()
    with pytest.raises(sp.CheckpointError, match=r"0000000002\.prepared cannot be used\. The last committed step is 0"):
        opened(tmp_path, ONE)


def test_what_was_opened_with_it_is_closed_with_it(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    checkpoint = opened(tmp_path, ONE)
    closed: list[str] = []

    def fail() -> None:
        raise OSError("no space left")

    for call in (lambda: closed.append("first"), fail, lambda: closed.append("last")):
        checkpoint.when_closed(call)
    checkpoint.close()
    checkpoint.close()
    assert closed == ["last", "first"]
    assert "no space left" in caplog.text
    used(tmp_path, ONE)


@pytest.fixture
def committed(tmp_path: Path) -> Path:
    """A checkpoint of one step, with one state file."""
    checkpoint = opened(tmp_path, ONE)
    plan_batch(tmp_path, 0)
    part = StoredPart(GroupRange(0, KEY_GROUPS), FileRef("0000000001-000.arrow", 1, 10, 0))
    state = replace(start(), rows=StateRows(panes=(part,)))
    commit(checkpoint, Manifest(step=1, batch_id=0, kind="batch", state=state))
    checkpoint.close()
    return tmp_path


def plan_batch(folder: Path, batch: int) -> None:
    """As Spark does before it hands a batch over."""
    offsets = folder / "spark" / "offsets"
    offsets.mkdir(parents=True, exist_ok=True)
    (offsets / str(batch)).write_text("")


def test_an_older_format_is_migrated_when_it_is_read(committed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    older = FORMAT - 1

    def age(body: dict[str, Any]) -> None:
        body["format"] = older
        if "id" in body:
            body["name"] = body.pop("id")

    def migrate(kind: FileKind, body: Body) -> Body:
        return {"id": body["name"], "questions": body["questions"]} if kind == "query" else body

    known = read(committed / "query.json")["id"]
    for name in ("query.json", MARKER, "manifests/0000000001.json"):
        reseal(committed / name, age)
    with pytest.raises(sp.CheckpointError, match=rf"has format {older} .* reads format {FORMAT}\."):
        opened(committed, ONE)
    monkeypatch.setitem(MIGRATIONS, older, migrate)
    assert used(committed, ONE) == known
    assert read(committed / "query.json")["format"] == FORMAT  # claimed again, so written again
    reseal(committed / "query.json", lambda body: body.update(format=older))
    with pytest.raises(sp.CheckpointError, match=rf"query\.json cannot be used\. .* format {older} .*'name'.* Restore"):
        opened(committed, ONE)


@pytest.mark.parametrize("name", ["../precious.arrow", "/etc/passwd", "..", "", "a/b.arrow", "a\0"])
def test_names_in_a_manifest_stay_inside_its_folder(committed: Path, name: str) -> None:
    path = committed / "manifests" / "0000000001.json"
    reseal(path, lambda body: body["questions"][""]["rows"]["panes"][0]["file"].update(name=name))
    with pytest.raises(sp.CheckpointError, match=r"0000000001\.json cannot be used\. It names the file .*Restore it"):
        opened(committed, ONE)


ANSWERS = ["rows", "ledger", "judged", "emitted_at", "totals", "clock"]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda body: body.pop("progress"), "missing .*`progress`"),
        *((lambda body, name=name: body["questions"][""].pop(name), f"missing .*`{name}`") for name in ANSWERS),
        (lambda body: body.update(state={}), r"unknown .*`\$\.state`"),
        (lambda body: body["progress"].update(watermark=1), r"unknown .*`\$\.progress\.watermark`"),
        (lambda body: body["questions"][""]["rows"].update(others=[]), r"unknown .*`\$\.questions\.\.rows\.others`"),
        (
            lambda body: body["questions"][""]["rows"]["panes"][0]["file"].update(size=1),
            r"unknown .*`\$\.questions\.\.rows\.panes\[0\]\.file\.size`",
        ),
        (lambda body: body["questions"].update(other=body["questions"][""]), r"the questions \['', 'other'\]"),
    ],
)
def test_a_manifest_that_lacks_or_adds_a_field_is_refused_by_name(
    committed: Path, change: Callable[[dict[str, Any]], object], named: str
) -> None:
    path = committed / "manifests" / "0000000001.json"
    reseal(path, change)
    remedy = "start over with a new checkpoint folder, or use the skypane version that wrote it"
    with pytest.raises(sp.CheckpointError, match=rf"{path} cannot be used\. .*{named}.*{remedy}"):
        opened(committed, ONE)


@pytest.mark.parametrize("name", ["id", "questions"])
def test_a_query_file_that_lacks_or_adds_a_field_is_refused_by_name(committed: Path, name: str) -> None:
    path = committed / "query.json"
    whole = path.read_text()
    reseal(path, lambda body: body.pop(name))
    with pytest.raises(sp.CheckpointError, match=rf"{path} cannot be used\. .*{name}"):
        opened(committed, ONE)
    path.write_text(whole)
    reseal(path, lambda body: body["questions"][""].update(born=3))
    with pytest.raises(
        sp.CheckpointError, match=rf"{path} cannot be used\. .*born.* the skypane version that wrote it"
    ):
        opened(committed, ONE)


def test_tuning_that_cannot_be_read_is_forgotten(committed: Path, caplog: pytest.LogCaptureFixture) -> None:
    def change(body: dict[str, Any]) -> None:
        body["tuning"] = {"routing": {"unknown": 1}, "density": {"records": 5, "partials": 2}, "speed": 7}

    reseal(committed / "manifests" / "0000000001.json", change)
    checkpoint = Checkpoint(committed)
    state = checkpoint.open(ONE, start()).state
    checkpoint.close()
    assert (state.tuning.routing, state.tuning.density) == (None, Density(5, 2))
    assert [file.file.name for file in state.rows.panes] == ["0000000001-000.arrow"]
    assert "TuningState.routing" in caplog.text
    assert "TuningState.speed" in caplog.text


def test_format_3_is_refused_and_not_touched(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    shutil.copytree(FORMAT_3, folder)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    query = read(folder / "query.json")["query"]
    remedy = rf"reads format {FORMAT}\. Give a new checkpoint folder, or use the skypane version that wrote this one\."
    with pytest.raises(sp.CheckpointError, match=rf"The checkpoint folder {folder} has format 3 .*{remedy}"):
        opened(folder, query)
    with pytest.raises(sp.CheckpointError, match=rf"The checkpoint folder {folder} has format 3 .*{remedy}"):
        Checkpoint(folder).compare(query)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_the_first_commit_does_not_need_more_than_a_claim(tmp_path: Path) -> None:
    checkpoint = opened(tmp_path, ONE)
    plan_batch(tmp_path, 0)
    commit(checkpoint, Manifest(step=1, batch_id=0, kind="batch", state=start()))
    checkpoint.close()
    again = Checkpoint(tmp_path)
    assert again.open(ONE, start()).step == 1
    again.close()


def three_steps(folder: Path) -> set[str]:
    """Commit three steps, each by a process of its own, that starts again if it dies; the ids that it had committed."""
    ids, committed = set(), 0
    while committed < 3:
        checkpoint = Checkpoint(folder)
        try:
            manifest = checkpoint.open(ONE, start())
            assert manifest.step in {committed, committed + 1}, "a commit was lost"
            committed = manifest.step
            checkpoint.claim()
            if checkpoint.pending is None:
                take_step(folder, checkpoint, committed + 1)
            else:
                for file in checkpoint.pending.row_files:
                    file.check()
                checkpoint.commit(checkpoint.pending)
                checkpoint.clean()
            ids.add(checkpoint.query_id)
            committed += 1
        except Crashed:
            pass
        finally:
            checkpoint.close()
    return ids


def take_step(folder: Path, checkpoint: Checkpoint, step: int, *, commits: bool = True) -> None:
    plan_batch(folder, step - 1)
    name = f"{step}.arrow"
    (folder / "state" / name).write_text("state")
    (folder / "state" / "other.arrow").write_text("of an attempt")
    rows = ArrowWriter(str(checkpoint.scratch(step))).write([pa.table({"n": [step]})])
    assert rows is not None
    part = StoredPart(GroupRange(0, KEY_GROUPS), FileRef(name, 1, 5, 0))
    state = replace(start(), rows=StateRows(panes=(part,)))
    outputs = {"results": OutputRows(None, (rows,), step)}
    manifest = Manifest(step=step, batch_id=step - 1, kind="batch", state=state, outputs=outputs)
    checkpoint.prepare(manifest)
    if commits:
        checkpoint.commit(manifest)
        checkpoint.clean()


def commit(checkpoint: Checkpoint, manifest: Manifest) -> None:
    checkpoint.prepare(manifest)
    checkpoint.commit(manifest)


def test_a_crash_at_any_file_operation_does_not_show(tmp_path: Path) -> None:
    crash = Crash()
    for operation in count(1):
        folder = tmp_path / str(operation)
        crash.arm(folder, operation)
        assert len(three_steps(folder)) == 1
        crash.disarm()
        with pytest.raises(sp.CheckpointError, match="belongs to a different query"):
            opened(folder, OTHER)
        if not crash.happened:
            break
    assert operation > 40
