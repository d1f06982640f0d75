"""Compiled kernels are cached where nobody else can write."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path

import pytest

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


def test_one_process_compiles_while_others_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    take = f"import fcntl; fcntl.flock(open({str(tmp_path / 'lock')!r}), fcntl.LOCK_EX | fcntl.LOCK_NB)"
    other = [sys.executable, "-c", take]
    with cache.one_process_at_a_time():
        assert b"BlockingIOError" in subprocess.run(other, capture_output=True, check=False).stderr
    subprocess.run(other, check=True)


def test_without_a_place_for_the_lock_nobody_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "missing"))
    with pytest.raises(OSError, match="of the caller"), cache.one_process_at_a_time():
        raise OSError("of the caller")


_NOT_COMPILED = """
import importlib, pkgutil
from numba.core.registry import CPUDispatcher
from skypane import kernels

modules = [importlib.import_module(found.name) for found in pkgutil.iter_modules(kernels.__path__, "skypane.kernels.")]
all_kernels = {value for module in modules for value in vars(module).values() if isinstance(value, CPUDispatcher)}
assert not any(kernel.signatures for kernel in all_kernels), "compiled at import"
kernels.warm()
reached, fresh = set(), {kernel for kernel in all_kernels if kernel.signatures}
while fresh:  # what a compiled kernel calls was compiled with it
    reached |= fresh
    plain = [kernel.py_func for kernel in fresh]
    called = {function.__globals__.get(name) for function in plain for name in function.__code__.co_names}
    fresh = {value for value in called if isinstance(value, CPUDispatcher)} - reached
print(len(all_kernels), sorted(kernel.__name__ for kernel in all_kernels - reached))
"""


def test_warming_compiles_every_kernel() -> None:
    # In a process of its own: here another test may have compiled what warming forgets.
    done = subprocess.run([sys.executable, "-c", _NOT_COMPILED], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    count, missing = done.stdout.split(maxsplit=1)
    assert int(count) > 30
    assert missing.strip() == "[]"
