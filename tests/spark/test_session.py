"""What the embedded session needs, and what it says if that is not there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import skypane as sp
from skypane.model.errors import DependencyError, OptionError
from skypane.spark.session import check_java


def java(folder: Path, said: str, code: int = 0) -> Path:
    """A home with a Java that says so."""
    path = folder / "bin" / "java"
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\necho '{said}' >&2\nexit {code}\n")
    path.chmod(0o755)
    return folder


@pytest.mark.parametrize(
    ("said", "code", "complaint"),
    [
        ('openjdk version "11.0.2" 2019-01-15', 0, r"17 or newer; .*bin/java is version 11\. Install it .*JAVA_HOME"),
        ('java version "1.8.0_292"', 0, r"is version 8\."),
        ("Unable to locate a Java Runtime.", 1, r"does not run: Unable to locate a Java Runtime"),
        ('openjdk version "17.0.9" 2023-10-17', 0, None),
        ("", 143, None),  # ended by a signal that was meant for this process
        ('openjdk version "21" 2023-09-19', 0, None),
    ],
)
def test_which_java(
    said: str, code: int, complaint: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(java(tmp_path, said, code)))
    if complaint is None:
        check_java()
        return
    with pytest.raises(DependencyError, match=complaint):
        check_java()


def test_no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(DependencyError, match=rf"JAVA_HOME={tmp_path} has no bin/java\. Install it"):
        sp.embedded_session()
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DependencyError, match=r"there is none in the path\. Install it"):
        sp.embedded_session()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"name": 4}, r"embedded_session\(4\): .* write cores=4\."),
        ({"cores": 0}, "cores=0 must be"),
        ({"cores": "all"}, "cores='all' must be"),
        ({"cores": True}, "cores=True must be"),
        ({"log_file": "/proc/none/spark.log"}, "log_file='/proc/none/spark.log' cannot be made"),
        ({"options": ["spark.ui.enabled"]}, "options=.* must be a dict"),
    ],
)
def test_arguments_are_checked_before_spark_starts(arguments: dict[str, Any], complaint: str) -> None:
    with pytest.raises(OptionError, match=complaint):
        sp.embedded_session(**arguments)


def test_a_java_that_ends_at_once_is_named_with_its_log(tmp_path: Path) -> None:
    program = (
        "import sys, skypane as sp\n"
        "try: sp.embedded_session(log_file=sys.argv[1], options={'spark.driver.memory': '1x'})\n"
        "except sp.SkypaneError as error: print(error)\n"
    )
    log = tmp_path / "spark.log"
    done = subprocess.run([sys.executable, "-c", program, str(log)], capture_output=True, text=True, check=True)
    assert done.stdout == f"Spark's Java process ended before it was ready. Its log, {log}, says why.\n"
    assert "1x" in log.read_text()
