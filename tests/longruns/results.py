"""Results: what long runs have done, a line of JSON for each seed, so that the next run goes on where this one ends."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import skypane

FOLDER = Path(__file__).parents[2] / "results" / "longruns"
PASSED = "passed"


@dataclass(frozen=True)
class Result:
    """What came of one seed."""

    what: str
    seed: int
    runs: int
    """How many schedules, kills, ... it had."""
    outcome: str = PASSED
    """Or what is wrong."""
    seconds: float = 0.0
    """Of processor time."""
    seen: dict[str, int] = field(default_factory=dict)
    """How often what came about."""
    code: str = ""
    """Which sources it is about."""


@dataclass(frozen=True)
class Results:
    """The results of one kind of long run."""

    what: str
    folder: Path = FOLDER

    @property
    def path(self) -> Path:
        """The file."""
        return self.folder / f"{self.what}.jsonl"

    def add(self, result: Result) -> None:
        """Append; a line is there whole or not at all."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            file.write(json.dumps(asdict(result)) + "\n")

    def read(self) -> list[Result]:
        """Those of the sources as they are now: a change makes all others a thing of the past."""
        if not self.path.exists():
            return []
        found = [Result(**body) for body in map(_parsed, self.path.read_text().splitlines()) if body is not None]
        return [result for result in found if result.code == code_of()]

    def seeds_to_do(self, first: int, last: int | None = None) -> Iterator[int]:
        """Seeds without a result, in order, without end unless there is a last one."""
        done = {result.seed for result in self.read()}
        seeds = count(first) if last is None else range(first, last + 1)
        return (seed for seed in seeds if seed not in done)


def _parsed(line: str) -> dict[str, Any] | None:
    try:
        body: dict[str, Any] = json.loads(line)
    except ValueError:  # cut off when the run was killed
        return None
    return body


@cache
def code_of() -> str:
    """A short name for skypane, and for the tests that long runs are made of, as they are now."""
    tests = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for root in (Path(skypane.__file__).parent, *(tests / name for name in ("chaos", "crash", "longruns", "support"))):
        for path in sorted(root.rglob("*.py")):
            digest.update(str(path.relative_to(root)).encode() + path.read_bytes())
    return digest.hexdigest()[:12]


def table(kinds: list[str], folder: Path = FOLDER) -> str:
    """What was run, how often, over which seeds, and which seeds to look at again."""
    lines = [f"{'what':<12}{'runs':>10}{'seeds':>8}  {'from-to':<14}{'failed':>7}  {'processor s':>13}"]
    failures = []
    for what in kinds:
        found = Results(what, folder).read()
        if not found:
            continue
        seeds, failed = [r.seed for r in found], [r for r in found if r.outcome != PASSED]
        span = f"{min(seeds)}-{max(seeds)}"
        runs, seconds = sum(r.runs for r in found), sum(r.seconds for r in found)
        lines.append(f"{what:<12}{runs:>10,}{len(seeds):>8,}  {span:<14}{len(failed):>7}  {seconds:>13,.0f}")
        seen: Counter[str] = Counter()
        for result in found:
            seen.update(result.seen)
        lines.append("  " + ", ".join(f"{name} {number:,}" for name, number in seen.most_common()))
        failures += [f"{what} --only {r.seed}: {r.outcome}" for r in failed]
    return "\n".join([*lines, *(f"FAILED python -m tests.longruns {text}" for text in failures)])
