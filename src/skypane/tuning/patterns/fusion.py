"""Fusion: networks with fewer threads that do the same; three levels, as transformations of blocks.

Level 1: neighbours that are alone become one node. Level 2, in addition: a node between two sides that only collects
and sends is spread: its sending goes to each node before it, its ordering to each node after it.
"""

from __future__ import annotations

from skypane.tuning.patterns.network import Block, Node, Pipe, Role, Side, pipe


def fused(block: Block, level: int) -> Block:
    """The stages of one pattern, fused."""
    if not isinstance(block, Pipe) or level == 0:
        return block
    block = _neighbours_joined(block)
    return _spread(block) if isinstance(block, Pipe) and level == 2 else block


def _neighbours_joined(block: Pipe) -> Block:
    joined: list[Block] = []
    for part in block.blocks:
        before = joined[-1] if joined else None
        if isinstance(before, Node) and isinstance(part, Node):
            joined[-1] = before.then(part)
        else:
            joined.append(part)
    return pipe(*joined)


def _spread(block: Pipe) -> Block:
    parts = list(block.blocks)
    for index in range(1, len(parts) - 1):
        before, between, after = parts[index - 1 : index + 2]
        if isinstance(before, Side) and isinstance(between, Node) and isinstance(after, Side):
            sends = Node(tuple(function for function in between.functions if function.role.sends))
            orders = Node(tuple(function for function in between.functions if function.role is Role.ORDER))
            first = Side(tuple(_then(worker, sends) for worker in before.blocks))
            second = Side(tuple(_then(orders, worker) for worker in after.blocks))
            return pipe(*parts[: index - 1], first, second, *parts[index + 2 :])
    return block


def _then(first: Block, second: Block) -> Block:
    assert isinstance(first, Node)
    assert isinstance(second, Node)
    return first.then(second)


def replicas_fused(emitter: Node, replica: Block, degree: int, collector: Node | None, level: int) -> Block:
    """A farm of patterns, fused: level 1 orders at the outermost only, level 2 also sends from there at once."""
    parts = list(replica.blocks) if isinstance(replica, Pipe) else [replica]
    last = parts[-1]
    if level >= 1 and isinstance(last, Node) and last.only_orders:
        parts, collector = parts[:-1], collector or last
    first = parts[0]
    if level == 2 and isinstance(first, Node) and first.only_sends:
        parts, emitter = parts[1:], emitter.then(first)
    return pipe(emitter, Side((pipe(*parts),) * degree), *(() if collector is None else (collector,)))
