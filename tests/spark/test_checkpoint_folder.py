"""The checkpoint folder without Spark: whose it is, when it begins to be somebody's, and what is never touched."""

from __future__ import annotations

import json
import shutil
import zlib
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import skypane as sp
from skypane.flow.step import StepState
from skypane.lateness.future_guard import FutureGuard
from skypane.lateness.punctuator import Punctuator
from skypane.queries.aggregates import Aggregates
from skypane.spark.store.checkpoint import Checkpoint
from skypane.spark.store.folders import MARKER
from skypane.spark.store.manifest import Manifest, SparkState
from tests.support.crashes import Crash, Crashed

OLD = Path(__file__).parent.parent / "fixtures" / "checkpoint-v2" / "checkpoint"
ONE, OTHER = {"query": "one"}, {"query": "other"}


def start() -> SparkState:
    return StepState(Punctuator(sp.KSlack(), FutureGuard(None), None).start())


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
        checkpoint.claim({"sink": "somewhere"})
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
    (tmp_path / "spark" / "offsets").mkdir(parents=True)
    (tmp_path / "spark" / "offsets" / "0").write_text("")
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
    (tmp_path / "spark" / "offsets").mkdir(parents=True)
    (tmp_path / "spark" / "offsets" / "0").write_text("")
    with pytest.raises(sp.CheckpointError, match=r"order of aggregates: was \['low', 'high'\], now \['high', 'low'\]"):
        opened(tmp_path, other)
    assert used(tmp_path, one) == known
    reseal(tmp_path / "query.json", lambda body: body["query"]["query"].pop("order"))  # as it was stored before
    Checkpoint(tmp_path).compare(other)
    assert used(tmp_path, other) == known
    with pytest.raises(sp.CheckpointError, match="order of aggregates"):
        Checkpoint(tmp_path).compare(one)


def test_it_remembers_where_its_sinks_write(tmp_path: Path) -> None:
    checkpoint = opened(tmp_path, ONE)
    checkpoint.claim({"sink": "/a", "late": "/b"})
    checkpoint.close()
    checkpoint = opened(tmp_path, ONE, claim=False)
    assert checkpoint.places == {"sink": "/a", "late": "/b"}
    checkpoint.close()


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
def old(tmp_path: Path) -> Path:
    shutil.copytree(OLD, tmp_path / "c")
    return tmp_path / "c"


def test_version_2_is_ours_without_a_marker(old: Path) -> None:
    query = read(old / "query.json")["query"]
    checkpoint = Checkpoint(old)
    manifest = checkpoint.open(query, start())
    assert (manifest.step, manifest.batch_id, checkpoint.born) == (4, 3, 2)
    checkpoint.close()
    stored = read(old / "query.json")
    assert (stored["version"], stored["id"], stored["query"]) == (3, checkpoint.query_id, query)
    assert read(old / MARKER)["kind"] == "checkpoint"
    assert used(old, query) == checkpoint.query_id


def test_a_damaged_version_2_is_not_taken_for_ours(old: Path) -> None:
    (old / "query.json").write_text("{}")
    before = sorted(old.rglob("*"))
    with pytest.raises(sp.OptionError, match="Nothing in it was touched"):
        opened(old, {})
    assert sorted(old.rglob("*")) == before


@pytest.mark.parametrize(
    ("asked", "what"),
    [
        ({"type": "top_k", "k": 3, "score": "a"}, "a top-k's scores"),
        ({"type": "top_delta", "delta": 3, "minimize": ["a"], "maximize": []}, "a top-delta's ties"),
        ({"type": "aggregate", "outputs": {"n": "count(1)", "total": "sum(d)"}}, "sums of decimals"),
    ],
)
def test_what_0_1_kept_otherwise_is_refused(old: Path, asked: dict[str, Any], what: str) -> None:
    def change(body: dict[str, Any]) -> None:
        body["query"] |= {"query": asked, "columns": {**body["query"]["columns"], "d": "decimal128(10, 2)"}}

    reseal(old / "query.json", change)
    with pytest.raises(sp.CheckpointError, match=rf"0\.1, which kept {what} .* End the query with 0\.1, or start over"):
        opened(old, read(old / "query.json")["query"])


@pytest.mark.parametrize("name", ["../precious.arrow", "/etc/passwd", "..", "", "a/b.arrow", "a\0"])
def test_names_in_a_manifest_stay_inside_its_folder(old: Path, name: str) -> None:
    path = old / "manifests" / "0000000004.json"
    reseal(path, lambda body: body["manifest"]["state"][0]["file"].update(name=name))
    with pytest.raises(sp.CheckpointError, match=r"0000000004\.json cannot be used\. It names the file .*Restore it"):
        opened(old, read(old / "query.json")["query"])


def test_a_manifest_that_lacks_something_is_refused_by_name(old: Path) -> None:
    reseal(old / "manifests" / "0000000004.json", lambda body: body["manifest"].pop("progress"))
    with pytest.raises(sp.CheckpointError, match=r"0000000004\.json cannot be used\."):
        opened(old, read(old / "query.json")["query"])


def test_the_first_commit_does_not_need_more_than_a_claim(tmp_path: Path) -> None:
    checkpoint = opened(tmp_path, ONE)
    (tmp_path / "spark" / "offsets").mkdir(parents=True)
    (tmp_path / "spark" / "offsets" / "0").write_text("")
    checkpoint.commit(Manifest(step=1, batch_id=0, kind="batch", state=start()))
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
            checkpoint.claim({"sink": "/x"})
            take_step(folder, checkpoint, manifest)
            ids.add(checkpoint.query_id)
            committed += 1
        except Crashed:
            pass
        finally:
            checkpoint.close()
    return ids


def take_step(folder: Path, checkpoint: Checkpoint, before: Manifest) -> None:
    step = before.step + 1
    offsets = folder / "spark" / "offsets"
    offsets.mkdir(parents=True, exist_ok=True)
    (offsets / str(step - 1)).write_text("")
    scratch = checkpoint.scratch(step)
    (folder / "state" / f"{step}.arrow").write_text("of an attempt")
    manifest = Manifest(step=step, batch_id=step - 1, kind="batch", state=start())
    checkpoint.commit(manifest)
    checkpoint.clean(manifest, scratch)


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
