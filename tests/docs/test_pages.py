"""The Python blocks of the README and of every page run, in order, in one namespace for each page.

A query that a block starts ends with the data that is there. A block that cannot run is marked in its page, by
``<!-- not run: why -->`` before it.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import skypane as sp
from skypane.api.continuous_query import ContinuousQuery
from tests.docs.blocks import ROOT, Block, blocks_of, pages
from tests.docs.names import names_for
from tests.support.spark.streams import WAIT_S

PAGES = pages()
NOT_RUN = 1
"""How many blocks are marked as not run."""


@pytest.fixture
def folder(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder, which relative paths mean, in Python and in Spark."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    jvm, configuration = spark._jvm, spark._jsc.hadoopConfiguration()
    assert jvm is not None
    hadoop: Any = jvm.org.apache.hadoop.fs
    files = hadoop.FileSystem.getLocal(configuration)
    before = files.getWorkingDirectory()
    files.setWorkingDirectory(hadoop.Path(tmp_path.as_uri()))
    yield tmp_path
    files.setWorkingDirectory(before)


@pytest.fixture
def _queries_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Queries take what is there and end; what makes one fail is raised where it is started."""
    start = ContinuousQuery.start

    def start_and_wait(query: ContinuousQuery, **options: Any) -> sp.RunningQuery:
        running = start(query, **{"available_now": True, **options})
        assert running.await_termination(WAIT_S)
        return running

    monkeypatch.setattr(ContinuousQuery, "start", start_and_wait)


@pytest.mark.spark
@pytest.mark.usefixtures("_queries_end")
@pytest.mark.parametrize("page", PAGES)
def test_the_blocks_of_a_page_run(
    page: str, spark: SparkSession, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = names_for(page, spark, folder)
    for block in PAGES[page]:
        if block.excerpt_of is None and block.not_run is None:
            own = folder / f"line-{block.line}"
            own.mkdir()
            run(block, names, {"spark": spark, "tmp_path": own})


def run(block: Block, names: dict[str, Any], fixtures: dict[str, Any]) -> None:
    """Run a block, and the tests that it defines, with the fixtures that they ask for."""
    before = set(names)
    exec(block.compiled(), names)
    for name in sorted(set(names) - before):
        if name.startswith("test_"):
            names[name](**{fixture: fixtures[fixture] for fixture in inspect.signature(names[name]).parameters})


@pytest.mark.parametrize("page", PAGES)
def test_excerpts_are_what_their_files_say(page: str) -> None:
    for block in PAGES[page]:
        if block.excerpt_of is not None:
            assert block.code.partition("\n")[2] in (ROOT / block.excerpt_of).read_text(), f"{page}:{block.line}"


def test_few_blocks_are_not_run() -> None:
    marked = [(page, block.line, block.not_run) for page, blocks in PAGES.items() for block in blocks if block.not_run]
    assert len(marked) == NOT_RUN, marked


def test_no_block_is_overlooked() -> None:
    fences = {page: (ROOT / page).read_text().count("```python") for page in PAGES}
    assert {page: len(blocks) for page, blocks in PAGES.items()} == fences


def test_a_mark_belongs_to_the_block_after_it() -> None:
    text = "<!-- not run: needs a cluster -->\n```python\n1\n```\n\ntext\n\n```python\n2\n```\n"
    assert blocks_of("a page", text) == [Block("a page", 3, "1\n", "needs a cluster"), Block("a page", 9, "2\n", None)]


def test_the_first_example_of_the_readme_is_the_file_that_it_names() -> None:
    first = PAGES["README.md"][0].code
    assert first in (ROOT / "examples" / "quickstart.py").read_text()
