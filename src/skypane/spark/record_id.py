"""Record id: a hash of a whole record by which ties are cut, the same whatever order records come in.

Spark's ``xxhash64`` alone leaves out nulls, runs arrays into their neighbours, takes -0.0 for 0.0 and refuses maps.
So nulls, lengths and signs of zeros are hashed as values of their own: records with one id are equal in every column,
but for a chance of one in 2**64.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DoubleType,
    FloatType,
    MapType,
    NullType,
    StringType,
    StructField,
    StructType,
    VariantType,
)

from skypane.model.columns import PREFIX
from skypane.spark.schemas import quoted


def record_id(df: DataFrame) -> Column:
    """The id of each record, from all columns but our own."""
    own = [field for field in df.schema.fields if not field.name.startswith(PREFIX)]
    return F.xxhash64(*(part for field in own for part in _telling(quoted(field.name), field.dataType, field.nullable)))


def _telling(value: Column, kind: DataType, nullable: bool = True) -> list[Column]:
    """Columns whose joint hash differs for different values of the type."""
    parts = [value]
    match kind:
        case NullType():
            parts = []
        case StructType():
            fields = (_telling(value.getField(field.name), field.dataType) for field in kind.fields)
            parts = [part for parts in fields for part in parts]
        case ArrayType():
            parts = _telling_items(value, kind.elementType)
        case MapType():
            entry = StructType([StructField("key", kind.keyType), StructField("value", kind.valueType)])
            parts = _telling_items(F.map_entries(value), entry)
        case DoubleType() | FloatType():
            parts = [F.when(value == 0, value.cast("string")), value]
        case VariantType():
            parts = [F.to_json(value)]
        case StringType() if not kind.isUTF8BinaryCollation():
            parts = [F.collate(value, "UTF8_BINARY")]
    return [value.isNull(), *parts] if nullable else parts


def _telling_items(items: Column, kind: DataType) -> list[Column]:
    return [F.size(items), F.transform(items, lambda item: F.xxhash64(*_telling(item, kind)))]
