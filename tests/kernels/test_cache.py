"""Compiled kernels are cached where nobody else can write."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from skypane import kernels
from skypane.kernels import cache


def test_directory_is_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    directory = cache.private_cache_directory()
    assert directory.parent == tmp_path / "skypane" / "numba"
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert stat.S_IMODE(directory.parent.stat().st_mode) == 0o700


def test_a_directory_open_to_others_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    base = tmp_path / "skypane" / "numba"
    base.mkdir(parents=True)
    base.chmod(0o777)
    assert tmp_path / "skypane" not in cache.private_cache_directory().parents


def test_an_unusable_home_falls_back_to_a_temporary_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocker))
    directory = cache.private_cache_directory()
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700


def test_the_users_choice_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    cache.use_private_cache()
    assert list(tmp_path.iterdir()) == []


def test_warming_runs_every_kernel() -> None:
    kernels.warm()
