"""Network: what a tree is built of once it runs - functions on nodes, nodes side by side, one after the other.

A node is a thread. Consecutive blocks of a pipe are fully connected: each node sends to all nodes of the next block.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from skypane.tuning.patterns.extent import Extent


class Role(Enum):
    """What a function does with the messages that reach its node."""

    SEND_KEYS = "sends by key"
    SEND_WINDOWS = "sends to the owners of windows"
    SEND_PANES = "sends panes in turn"
    DEAL = "deals records out in turn"
    PANES = "answers panes"
    PARTS = "answers parts of windows"
    WINDOWS = "answers windows"
    ORDER = "puts results in order"

    @property
    def sends(self) -> bool:
        """Whether it is an emitter: it computes nothing, and says who gets what."""
        return self in _EMITTERS


_EMITTERS = frozenset({Role.SEND_KEYS, Role.SEND_WINDOWS, Role.SEND_PANES, Role.DEAL})


@dataclass(frozen=True)
class Function:
    """One of the jobs that a node does."""

    role: Role
    over: Extent
    """The windows that it answers, or sends the parts of; of panes and parts, in what comes to it."""
    ways: int = 1
    """Of an emitter: how many receivers; of what answers parts of windows: of how many it is one."""


@dataclass(frozen=True)
class Node:
    """A thread: its functions hand results to each other."""

    functions: tuple[Function, ...]

    @property
    def roles(self) -> tuple[Role, ...]:
        """The roles of the node, in order."""
        return tuple(function.role for function in self.functions)

    def then(self, other: Node) -> Node:
        """Both on one thread."""
        return Node((*self.functions, *other.functions))

    @property
    def only_sends(self) -> bool:
        """Whether it is an emitter and nothing else."""
        return all(role.sends for role in self.roles)

    @property
    def only_orders(self) -> bool:
        """Whether it is a collector and nothing else."""
        return all(role is Role.ORDER for role in self.roles)


@dataclass(frozen=True)
class Side:
    """Blocks side by side."""

    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Pipe:
    """Blocks one after the other."""

    blocks: tuple[Block, ...]


Block: TypeAlias = Node | Side | Pipe


def node(role: Role, over: Extent, ways: int = 1) -> Node:
    """A thread with one function."""
    return Node((Function(role, over, ways),))


def pipe(*parts: Block) -> Block:
    """One after the other; pipes within a pipe are its own, and one block alone needs none."""
    flat = tuple(block for part in parts for block in (part.blocks if isinstance(part, Pipe) else (part,)))
    return flat[0] if len(flat) == 1 else Pipe(flat)


def farm(emitter: Node, worker: Block, degree: int, collector: Node | None) -> Block:
    """An emitter, so many equal workers, perhaps a collector."""
    return pipe(emitter, Side((worker,) * degree), *(() if collector is None else (collector,)))


def nodes(block: Block) -> Iterator[Node]:
    """All threads, from front to back."""
    if isinstance(block, Node):
        yield block
        return
    for part in block.blocks:
        yield from nodes(part)


def threads(block: Block) -> int:
    """How many there are; source and sink not counted."""
    return sum(1 for _ in nodes(block))
