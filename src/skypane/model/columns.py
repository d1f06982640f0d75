"""Names of the columns that skypane adds to a user's records on their way through the stages."""

from __future__ import annotations

from typing import Final

PREFIX: Final = "__sp_"
"""No user column may start with this."""

GROUP: Final = "__sp_group"
"""The key group: a hash of the key, the unit in which window-stage work is distributed."""

PANE: Final = "__sp_pane"
"""The pane number of a partial."""

ID: Final = "__sp_id"
"""A hash of the whole record: breaks ties the same way whatever order records come in."""

DISTINCT: Final = "__sp_distinct"
"""A hash of the record's id, where duplicates are found; null if any column of the id is."""

TIME_US: Final = "__sp_time_us"
"""Of an id that is remembered: the time of its record."""

COUNTER: Final = "__sp_counter"
"""Which counter counts the records of a row's key, where windows are counted in records."""

OTHERS: Final = "__sp_others"
"""Of a held record: how many trusted records came with it or after it."""

BEHIND: Final = "__sp_behind"
"""Of a held record: how many trusted records came after it, and far behind it."""

WINDOW: Final = "window"
"""The result column with the window's start and end."""

CHANGE: Final = "change"
"""The result column of ``emit="changes"``: +1 for a record that enters the answer, -1 for one that leaves it."""

AT: Final = "at"
"""The result column of ``emit="updates"``: the instant."""

CAUSE: Final = "cause"
"""The result column of ``emit="updates"``: why the record enters or leaves."""

EXPIRES: Final = "expires"
"""The result column of ``emit="updates"``: when the record stops to be live."""

VALID_FROM: Final = "valid_from"
"""The result column of ``emit="intervals"``: the first instant at which the record was in the answer."""

VALID_TO: Final = "valid_to"
"""The result column of ``emit="intervals"``: the first instant at which it was not any more."""

REVISION: Final = "revision"
"""The result column of ``lateness(allowed=...)``: 0 for a window's first answer, 1, 2, ... for corrected ones."""

REASON: Final = "reason"
"""The column of quarantined records: why the record cannot be used."""

DELAY: Final = "delay"
"""The column of late records: how far the stream had come beyond the record's time."""

WATERMARK: Final = "watermark"
"""The column of late records: the watermark that the record missed."""

HARMFUL: Final = "harmful"
"""The column of late records: whether the record would have changed an answer; null if that is unknown."""

KEY_GROUPS: Final = 256
"""How many key groups there are, a power of two; also the largest useful degree of the window stage."""
