"""A format has one name, however it is written."""

from __future__ import annotations

import pytest

from skypane.spark.format_name import format_name

WRITTEN = {
    "parquet": (
        "parquet",
        "Parquet",
        " PARQUET ",
        "org.apache.spark.sql.parquet",
        "org.apache.spark.sql.parquet.DefaultSource",
        "org.apache.spark.sql.execution.datasources.parquet",
        "org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat",
        "org.apache.spark.sql.execution.datasources.v2.parquet.ParquetDataSourceV2",
    ),
    "orc": ("ORC", "org.apache.spark.sql.hive.orc", "org.apache.spark.sql.hive.orc.OrcFileFormat"),
    "csv": ("Csv", "com.databricks.spark.csv"),
    "avro": ("avro", "com.databricks.spark.avro", "org.apache.spark.sql.avro.AvroFileFormat"),
    "jdbc": (
        "JDBC",
        "org.apache.spark.sql.jdbc",
        "org.apache.spark.sql.execution.datasources.jdbc.JdbcRelationProvider",
    ),
    "kafka": ("Kafka", "org.apache.spark.sql.kafka010.KafkaSourceProvider"),
    "delta": ("Delta", "io.delta.sql.DeltaDataSource", "org.apache.spark.sql.delta.sources.DeltaDataSource"),
    "binaryfile": ("binaryFile",),
    "skypane-traffic": ("Skypane-Traffic",),
    "com.example.format": ("com.example.Format",),
}


@pytest.mark.parametrize(("name", "written"), [(name, one) for name, all_ in WRITTEN.items() for one in all_])
def test_a_format_has_one_name(name: str, written: str) -> None:
    assert format_name(written) == name
