"""Message: what one station sends to another; Mark: how far a stream has come; Step: what serving them takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Message(NamedTuple):
    """Records of one key and one place, or one result."""

    key: int
    place: int
    """Of records: their time; of results: their number. Counted as the receiver counts."""
    bunch: int
    """How many messages it stands for: records travel one by one, if here in bunches; a result is one."""
    rows: float
    records: int
    """How many records of the stream it was made of; what a sink can check."""
    path: tuple[int, ...] = ()
    """Which of the receivers, from the outermost side on."""


class Mark(NamedTuple):
    """All records before this time have been sent. It takes no time: on a real machine the next record says it."""

    until: int
    sent: bool = True
    """Else its source only notes that it has made them ..."""
    made: bool = True
    """... and this one, which is sent later, is not noted."""


class Step(NamedTuple):
    """A piece of a station's work, and what it sends then."""

    cost_us: float
    messages: Sequence[Message]
