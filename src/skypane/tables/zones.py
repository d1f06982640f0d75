"""Zones of tables: times with zones under names that Arrow, pandas and polars know."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from skypane.model.zones import arrow_zone


def with_arrow_zones(table: pa.Table) -> pa.Table:
    """The table with the zones that Spark has put on its times under names that Arrow knows."""
    return _renamed(table, lambda zone: arrow_zone(zone) or zone)


def with_place_zones(table: pa.Table) -> pa.Table:
    """The table with times in UTC where their zone is a bare offset, which polars does not know."""
    return _renamed(table, lambda zone: "UTC" if zone.startswith(("+", "-")) else zone)


def _renamed(table: pa.Table, name: Callable[[str], str]) -> pa.Table:
    wanted = pa.schema([field.with_type(_type(field.type, name)) for field in table.schema], table.schema.metadata)
    return table if wanted.equals(table.schema) else table.cast(wanted)


def _type(kind: pa.DataType, name: Callable[[str], str]) -> pa.DataType:
    """The type with other names of zones, at any depth."""
    if pa.types.is_timestamp(kind):
        return kind if kind.tz is None else pa.timestamp(kind.unit, name(kind.tz))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_type(field.type, name)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_type(kind.value_type, name)))
    if pa.types.is_map(kind):
        return pa.map_(_type(kind.key_type, name), kind.item_field.with_type(_type(kind.item_type, name)))
    return kind
