"""Tests one point against a block of 16 points at once: the vector instructions under every dominance kernel.

LLVM leaves plain dominance loops scalar. These intrinsics emit the compares on whole vectors. A block
holds 16 points column by column: attribute i of lane k is at `start + 16 * i + k`. Attributes are padded
to an even number with zeros. An unused lane holds NaN, which counts as worse than everything.
"""

# ruff: noqa: ARG001, PLR0917 (numba fixes the signatures of code generators)
from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LANES = 16
"""Points in a block."""


def padded_width(attributes: int) -> int:
    """The number of attribute slots that rows and blocks have: attributes rounded up to an even number."""
    return attributes + (attributes & 1)


def _data_pointer(context: Any, builder: Any, array_type: Any, array: Any, offset: Any) -> Any:
    data = context.make_array(array_type)(context, builder, value=array).data
    return builder.gep(data, [offset])


def _load_vector(builder: Any, pointer: Any, column: Any, vector: Any) -> Any:
    place = builder.gep(pointer, [builder.mul(column, ir.Constant(column.type, LANES))])
    loaded = builder.load(builder.bitcast(place, vector.as_pointer()))
    loaded.align = 4  # numpy promises no more
    return loaded


def _broadcast(builder: Any, pointer: Any, column: Any, vector: Any) -> Any:
    value = builder.load(builder.gep(pointer, [column]))
    one = builder.insert_element(ir.Constant(vector, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
    lanes = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(one, one, lanes)


def _sign_mask(builder: Any, bits: Any) -> Any:
    """The sign bits of a vector of integers, as one integer."""
    count = bits.type.count
    negative = builder.icmp_signed("<", bits, ir.Constant(bits.type, [0] * count))
    return builder.bitcast(negative, ir.IntType(count))


def _every_lane_set(builder: Any, bits: Any) -> Any:
    half = LANES // 2
    index = ir.VectorType(ir.IntType(32), half)
    low = builder.shuffle_vector(bits, bits, ir.Constant(index, list(range(half))))
    high = builder.shuffle_vector(bits, bits, ir.Constant(index, list(range(half, LANES))))
    mask = _sign_mask(builder, builder.and_(low, high))
    return builder.icmp_unsigned("==", mask, ir.Constant(mask.type, -1))


def _compare_loop(
    context: Any, builder: Any, signature: Any, args: Any, predicate: str, stop_when_full: bool
) -> Any:
    """OR the compares of all attributes, two at a time; lanes where one held have their bit set."""
    blocks_type, _, point_type, _, _ = signature.args
    blocks, start, point, at, width = args
    element = context.get_data_type(blocks_type.dtype)
    vector = ir.VectorType(element, LANES)
    lane_bits = ir.VectorType(ir.IntType(64 if element == ir.DoubleType() else 32), LANES)
    block_pointer = _data_pointer(context, builder, blocks_type, blocks, start)
    point_pointer = _data_pointer(context, builder, point_type, point, at)
    zero, one, two = (ir.Constant(width.type, k) for k in (0, 1, 2))

    entry = builder.block
    loop = builder.append_basic_block("attributes")
    leave = builder.append_basic_block("done")
    builder.branch(loop)
    builder.position_at_end(loop)
    column = builder.phi(width.type)
    found = builder.phi(lane_bits)
    column.add_incoming(zero, entry)
    found.add_incoming(ir.Constant(lane_bits, [0] * LANES), entry)
    result = found
    for which in (column, builder.add(column, one)):
        theirs = _load_vector(builder, block_pointer, which, vector)
        ours = _broadcast(builder, point_pointer, which, vector)
        if predicate == "above":  # unordered: NaN lanes count as above
            held = builder.fcmp_unordered(">", theirs, ours)
        else:
            held = builder.fcmp_ordered("<", theirs, ours)
        result = builder.or_(result, builder.sext(held, lane_bits))
    following = builder.add(column, two)
    finished = builder.icmp_signed(">=", following, width)
    if stop_when_full:
        finished = builder.or_(finished, _every_lane_set(builder, result))
    column.add_incoming(following, loop)
    found.add_incoming(result, loop)
    builder.cbranch(finished, leave, loop)
    builder.position_at_end(leave)
    return _sign_mask(builder, result)


@intrinsic
def lanes_not_above(
    typing_context: Any, blocks: Any, start: Any, point: Any, at: Any, width: Any
) -> tuple[Any, Any]:
    """Bit k is set if lane k of the block is nowhere above the point."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        above = _compare_loop(context, builder, signature, args, "above", stop_when_full=True)
        return builder.zext(builder.not_(above), ir.IntType(64))

    return types.int64(blocks, types.int64, point, types.int64, types.int64), generate


@intrinsic
def lanes_somewhere_below(
    typing_context: Any, blocks: Any, start: Any, point: Any, at: Any, width: Any
) -> tuple[Any, Any]:
    """Bit k is set if lane k of the block is below the point in some attribute."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        below = _compare_loop(context, builder, signature, args, "below", stop_when_full=False)
        return builder.zext(below, ir.IntType(64))

    return types.int64(blocks, types.int64, point, types.int64, types.int64), generate


@intrinsic
def lowest_bit(typing_context: Any, mask: Any) -> tuple[Any, Any]:
    """The number of the lowest bit that is set; the mask must not be zero."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], cgutils.true_bit)

    return types.int64(types.int64), generate
