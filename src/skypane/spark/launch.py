"""Launch: from a described query to a running one - check everything first, then start Spark's micro-batches."""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession

from skypane.flow.definition import Definition
from skypane.flow.plan import EngineFacts
from skypane.flow.step import Flow
from skypane.model.errors import CheckpointError
from skypane.notices import COMPILATION, waiting_for
from skypane.spark.checks import CheckedQuery, check_query, max_tasks
from skypane.spark.claims import claim_sinks
from skypane.spark.driver import StepDriver
from skypane.spark.executors.choice import executors_of
from skypane.spark.executors.warming import warm_kernels
from skypane.spark.explain import explain
from skypane.spark.failures import readable
from skypane.spark.fingerprint import fingerprint
from skypane.spark.options import LaunchOptions
from skypane.spark.outputs import outputs_of
from skypane.spark.pacing import all_waits_us, idleness_of, pace_of, trigger_of
from skypane.spark.query import QueryRun, RunningQuery
from skypane.spark.schemas import arrow_schema
from skypane.spark.session import is_embedded
from skypane.spark.sinks.base import Continuation
from skypane.spark.store.checkpoint import Checkpoint
from skypane.spark.store.folders import local_path
from skypane.spark.transfer import Transfer, transfer_of
from skypane.spark.workers import check_workers


def launch(df: DataFrame, definition: Definition, options: LaunchOptions) -> RunningQuery:
    """Check the query against the records, open checkpoint and sinks, start."""
    checked = check_query(df, definition, options)
    max_degree = max_tasks(df.sparkSession, options)
    check_workers(df.sparkSession)
    with waiting_for(COMPILATION):
        warm_kernels(checked.definition)

    temporary = None
    if options.checkpoint is None:
        temporary = Path(tempfile.mkdtemp(prefix="skypane-checkpoint-"))
    checkpoint = Checkpoint(temporary or local_path(options.checkpoint or "", "checkpoint"))
    try:
        return _Start(df.sparkSession, checked, options, checkpoint, temporary, max_degree).run()
    except BaseException as error:
        # No run will end and free the folder, so another try must find it free.
        checkpoint.close()
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)
        if (clear := readable(error)) is not error:
            raise clear from error
        raise


@dataclass(frozen=True)
class _Start:
    """A start that nothing but the checkpoint and the sinks can refuse any more."""

    spark: SparkSession
    checked: CheckedQuery
    options: LaunchOptions
    checkpoint: Checkpoint
    temporary: Path | None
    max_degree: int

    def run(self) -> RunningQuery:
        """Open the checkpoint and the sinks, repeat what a crash interrupted, hand over to Spark."""
        options, definition = self.options, self.checked.definition
        transfer = transfer_of(self.checked.prepared, definition, options)
        driver = self._driver(transfer)
        driver.scale()
        run = QueryRun(
            driver,
            self.checkpoint,
            ending=options.ending if options.trigger is None else None,
            idle=idleness_of(options),
            temporary=self.temporary,
            pace=pace_of(definition, options),
            all_waits_us=all_waits_us(options),
        )
        driver.resume()
        self._stream(run, transfer)
        condenses = transfer.condensing is not None
        text = explain(definition, options, driver.executors.describe(), self.max_degree, condenses=condenses)
        return RunningQuery(run, text)

    def _driver(self, transfer: Transfer) -> StepDriver:
        options, checkpoint = self.options, self.checkpoint
        prepared, records, definition = self.checked.prepared, self.checked.records, self.checked.definition
        embedded = is_embedded(self.spark)
        tuner = options.parallel.tuner(definition, slots=options.slots, embedded=embedded, max_degree=self.max_degree)
        flow = Flow.of(definition, options.punctuator, tuner)
        manifest = checkpoint.open(fingerprint(definition, records), flow.start(), options.accept_changed_code)
        outputs = outputs_of(flow.program, options, records, arrow_schema(prepared))
        known_as = None if self.temporary else str(checkpoint.folder)
        origin = Continuation(checkpoint.query_id, manifest.step, definition.keys, checkpoint=known_as)
        claim_sinks(self.spark, outputs, checkpoint, origin)
        executors = executors_of(self.spark, definition, options.parallel.elastic, options.slots)
        checkpoint.when_closed(executors.close)
        return StepDriver(
            spark=self.spark,
            flow=flow,
            tuner=tuner,
            checkpoint=checkpoint,
            manifest=manifest,
            outputs=outputs,
            transfer=transfer,
            executors=executors,
            engine=EngineFacts(cores=os.cpu_count() or 1, embedded=embedded),
        )

    def _stream(self, run: QueryRun, transfer: Transfer) -> None:
        """Hand over to Spark, which calls back with each batch."""
        sent = transfer.sending.select(self.checked.prepared)
        writer = sent.writeStream.foreachBatch(run.on_batch).trigger(**trigger_of(self.options))
        writer = writer.option("checkpointLocation", str(self.checkpoint.spark))
        named = writer.queryName(self.options.name) if self.options.name else writer
        try:
            run.begin(named.start())
        except Py4JJavaError as error:
            if "StreamMetadata" not in str(error):
                raise
            raise CheckpointError(
                f"The file {self.checkpoint.spark / 'metadata'} is damaged: Spark cannot read it. Restore it from a "
                "backup, or start over with a new checkpoint folder."
            ) from error
