"""Folders: what a path means, and that nothing happens to a folder that is not ours."""

from __future__ import annotations

from pathlib import Path

import pytest

import skypane as sp
from skypane.spark.store.folders import MARKER, FolderKind, OwnFolder, local_path


def own(path: Path) -> OwnFolder:
    return OwnFolder(path, "checkpoint", "checkpoint", "lock")


def contents(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("address", "folder"),
    [
        ("file:/x/a%20b", "/x/a b"),
        ("file:///x/a%20b", "/x/a b"),
        ("FILE:///x/y", "/x/y"),
        ("file://localhost/x/y", "/x/y"),
        ("file:///x/50%25?#a", "/x/50%?#a"),
        ("/x/a%20b", "/x/a%20b"),
        ("/x/a#b?c", "/x/a#b?c"),
        (Path("/x/a b").as_uri(), "/x/a b"),
    ],
)
def test_addresses(address: str, folder: str) -> None:
    assert local_path(address, "checkpoint") == Path(folder)


def test_addresses_that_are_refused() -> None:
    with pytest.raises(sp.OptionError, match=r"computer 'x'\. For one of this computer write file:///x/y"):
        local_path("file://x/y", "checkpoint")
    with pytest.raises(sp.OptionError, match="only folders that every worker can reach by path"):
        local_path("s3://x/y", "checkpoint")
    with pytest.raises(sp.OptionError, match="checkpoint='' names no folder"):
        local_path("", "checkpoint")


@pytest.mark.parametrize("name", ["notes.txt", ".hidden", "state/terraform.tfstate", "_staging/mine"])
def test_a_folder_with_files_of_others_is_not_touched(tmp_path: Path, name: str) -> None:
    path = tmp_path / "theirs" / name
    path.parent.mkdir(parents=True)
    path.write_text("precious")
    with pytest.raises(sp.OptionError, match=rf"{Path(name).parts[0]}.*Nothing in it was touched\. Give a new or an"):
        own(tmp_path / "theirs").acquire()
    assert contents(tmp_path / "theirs") == {name: "precious"}


@pytest.mark.parametrize("left", ["", f".{MARKER}.0a1b2c3d", "lost+found/"])
def test_an_empty_folder_becomes_ours(tmp_path: Path, left: str) -> None:
    """Also one where a crash left a marker that is not in place, or the first folder of a new disk."""
    folder = tmp_path / "f"
    (folder / left).parent.mkdir(parents=True, exist_ok=True)
    if left:
        (folder / left).mkdir() if left.endswith("/") else (folder / left).write_text("{")
    for _ in range(2):
        ours = own(folder)
        assert ours.acquire()["kind"] == "checkpoint"
        ours.release()
    (folder / "anything").write_text("")
    own(folder).acquire()


def test_one_user_at_a_time(tmp_path: Path) -> None:
    first, second = own(tmp_path), own(tmp_path)
    first.acquire()
    with pytest.raises(sp.CheckpointError, match="in use by another running query"):
        second.acquire()
    second.release()
    with pytest.raises(sp.CheckpointError, match="in use by another running query"):
        second.acquire()
    first.release()
    second.acquire()


def test_a_folder_of_another_kind_is_refused(tmp_path: Path) -> None:
    OwnFolder(tmp_path, "sink", "sink", "_lock").acquire()
    with pytest.raises(sp.OptionError, match=rf"checkpoint: {tmp_path} is the folder of a sink\. Give another"):
        own(tmp_path).acquire()
    assert not (tmp_path / "lock").exists()


def test_folders_that_cannot_be_created(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("precious")
    with pytest.raises(sp.OptionError, match=rf"checkpoint: {tmp_path}/file is a file; give a folder"):
        own(tmp_path / "file").acquire()
    for path in (tmp_path / "file" / "below" / "it", Path("/proc/skypane/checkpoint")):
        with pytest.raises(sp.OptionError, match=rf"checkpoint: the folder {path} cannot be used \(.*may create and"):
            own(path).acquire()
    assert contents(tmp_path) == {"file": "precious"}


@pytest.mark.parametrize(("kind", "sign"), [("checkpoint", "query.json"), ("sink", "_files.log")])
def test_a_missing_marker_is_named(tmp_path: Path, kind: FolderKind, sign: str) -> None:
    (tmp_path / sign).write_text("{}")
    message = rf"was a {kind} of skypane \({sign} is there\), but its file _skypane\.json, which says whose it is, "
    with pytest.raises(sp.OptionError, match=message):
        OwnFolder(tmp_path, kind, "option", "lock").acquire()
    assert [path.name for path in tmp_path.iterdir()] == [sign]
