"""Tests one point against a block of 16 points at once: the vector instructions under every dominance kernel.

LLVM leaves plain dominance loops scalar. These intrinsics emit the compares on whole vectors. A block
holds 16 points column by column: attribute i of lane k is at `start + 16 * i + k`. Attributes are padded
to whole steps with zeros. An unused lane holds NaN, which counts as worse than everything.
"""

# ruff: noqa: ARG001 (numba fixes the signatures of code generators)
from __future__ import annotations

from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LANES = 16
"""Points in a block."""
STEP = 2
"""Attributes compared between two looks at whether all lanes are settled; 4 was a quarter slower."""
ALL_LANES = (1 << LANES) - 1
"""The mask of a whole block."""


@numba.njit(cache=True, nogil=True)
def padded_width(attributes: int) -> int:
    """The number of attribute slots that rows and blocks have: attributes rounded up to whole steps."""
    return (attributes + STEP - 1) // STEP * STEP


def _data_pointer(context: Any, builder: Any, array_type: Any, array: Any, offset: Any) -> Any:
    data = context.make_array(array_type)(context, builder, value=array).data
    return builder.gep(data, [offset])


def _operands(context: Any, builder: Any, signature: Any, args: Any) -> tuple[Any, Any, Any, Any]:
    """Where the block and the point begin, the type of one attribute of a block, and how many attributes there are."""
    blocks_type, _, point_type, _, _ = signature.args
    blocks, start, point, at, width = args
    block_pointer = _data_pointer(context, builder, blocks_type, blocks, start)
    point_pointer = _data_pointer(context, builder, point_type, point, at)
    return block_pointer, point_pointer, ir.VectorType(context.get_data_type(blocks_type.dtype), LANES), width


def _begin_loop(builder: Any) -> tuple[Any, Any, Any]:
    """The block before a loop over attributes, the loop, in which one is from now on, and the block after it."""
    entry = builder.block
    loop = builder.append_basic_block("attributes")
    leave = builder.append_basic_block("done")
    builder.branch(loop)
    builder.position_at_end(loop)
    return entry, loop, leave


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


def _compare_loop(context: Any, builder: Any, signature: Any, args: Any, wanted: str, found_before: Any) -> Any:
    """OR the compares of all attributes to lanes found before, a step at a time, until every lane is found."""
    block_pointer, point_pointer, vector, width = _operands(context, builder, signature, args)
    entry, loop, leave = _begin_loop(builder)
    column = builder.phi(width.type)
    found = builder.phi(found_before.type)
    column.add_incoming(ir.Constant(width.type, 0), entry)
    found.add_incoming(found_before, entry)
    result = found
    for k in range(STEP):
        which = builder.add(column, ir.Constant(width.type, k))
        theirs = _load_vector(builder, block_pointer, which, vector)
        ours = _broadcast(builder, point_pointer, which, vector)
        if wanted == "above":  # unordered: NaN lanes count as above
            held = builder.fcmp_unordered(">", theirs, ours)
        elif wanted == "at most":
            held = builder.fcmp_ordered("<=", theirs, ours)
        else:
            held = builder.fcmp_ordered("<", theirs, ours)
        result = builder.or_(result, builder.sext(held, result.type))
    following = builder.add(column, ir.Constant(width.type, STEP))
    finished = builder.or_(builder.icmp_signed(">=", following, width), _every_lane_set(builder, result))
    column.add_incoming(following, loop)
    found.add_incoming(result, loop)
    builder.cbranch(finished, leave, loop)
    builder.position_at_end(leave)
    return result


def _lane_zeros(context: Any, signature: Any) -> Any:
    double = context.get_data_type(signature.args[0].dtype) == ir.DoubleType()
    return ir.Constant(ir.VectorType(ir.IntType(64 if double else 32), LANES), [0] * LANES)


def _two_passes(context: Any, builder: Any, signature: Any, args: Any, ruled_out: str, strict: str) -> Any:
    """Lanes that the first compare never rules out, and shifted by 16 those where the second holds too."""
    word = ir.IntType(64)
    out = _compare_loop(context, builder, signature, args, ruled_out, _lane_zeros(context, signature))
    candidates = builder.not_(_sign_mask(builder, out))
    first_pass = builder.block
    with builder.if_then(builder.icmp_unsigned("!=", candidates, ir.Constant(candidates.type, 0))):
        settled = _compare_loop(context, builder, signature, args, strict, out)
        both = builder.or_(
            builder.shl(
                builder.zext(builder.and_(_sign_mask(builder, settled), candidates), word),
                ir.Constant(word, LANES),
            ),
            builder.zext(candidates, word),
        )
        second_pass = builder.block
    result = builder.phi(word)
    result.add_incoming(ir.Constant(word, 0), first_pass)
    result.add_incoming(both, second_pass)
    return result


@intrinsic
def compare_lanes(typing_context: Any, blocks: Any, start: Any, point: Any, at: Any, width: Any) -> tuple[Any, Any]:
    """Bit k is set if lane k of the block is nowhere above the point; bit 16 + k if it dominates it."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _two_passes(context, builder, signature, args, "above", "below")

    return types.int64(blocks, types.int64, point, types.int64, types.int64), generate


@intrinsic
def compare_point(typing_context: Any, blocks: Any, start: Any, point: Any, at: Any, width: Any) -> tuple[Any, Any]:
    """Bit k is set if the point is nowhere above lane k of the block; bit 16 + k if it dominates it."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _two_passes(context, builder, signature, args, "below", "above")

    return types.int64(blocks, types.int64, point, types.int64, types.int64), generate


@intrinsic
def lanes_above_everywhere(
    typing_context: Any, blocks: Any, start: Any, point: Any, at: Any, width: Any
) -> tuple[Any, Any]:
    """Bit k is set if lane k of the block is above the point in every attribute, padding included."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        nothing = _lane_zeros(context, signature)
        at_most = _compare_loop(context, builder, signature, args, "at most", nothing)
        return builder.zext(builder.not_(_sign_mask(builder, at_most)), ir.IntType(64))

    return types.int64(blocks, types.int64, point, types.int64, types.int64), generate


def _sum_loop(context: Any, builder: Any, signature: Any, args: Any) -> tuple[Any, Any]:
    """Per lane: minus the number of attributes not above the point, and whether one of them is below."""
    block_pointer, point_pointer, vector, width = _operands(context, builder, signature, args)
    zeros = _lane_zeros(context, signature)
    entry, loop, leave = _begin_loop(builder)
    column, counted, below = builder.phi(width.type), builder.phi(zeros.type), builder.phi(zeros.type)
    column.add_incoming(ir.Constant(width.type, 0), entry)
    for running in (counted, below):
        running.add_incoming(zeros, entry)
    theirs = _load_vector(builder, block_pointer, column, vector)
    ours = _broadcast(builder, point_pointer, column, vector)
    more = builder.add(counted, builder.sext(builder.fcmp_ordered("<=", theirs, ours), zeros.type))
    lower = builder.or_(below, builder.sext(builder.fcmp_ordered("<", theirs, ours), zeros.type))
    following = builder.add(column, ir.Constant(width.type, 1))
    column.add_incoming(following, loop)
    counted.add_incoming(more, loop)
    below.add_incoming(lower, loop)
    builder.cbranch(builder.icmp_signed("<", following, width), loop, leave)
    builder.position_at_end(leave)
    return more, lower


@intrinsic
def most_not_above(typing_context: Any, blocks: Any, start: Any, point: Any, at: Any, width: Any) -> tuple[Any, Any]:
    """The most attributes in which one lane that is below the point somewhere is not above it; 0 if none is."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        counted, below = _sum_loop(context, builder, signature, args)
        least = builder.and_(counted, below)
        half = LANES // 2
        while half >= 1:  # the smallest lane, by halves
            index = ir.VectorType(ir.IntType(32), half)
            low = builder.shuffle_vector(least, least, ir.Constant(index, list(range(half))))
            high = builder.shuffle_vector(least, least, ir.Constant(index, list(range(half, 2 * half))))
            least = builder.select(builder.icmp_signed("<", low, high), low, high)
            half //= 2
        smallest = builder.extract_element(least, ir.Constant(ir.IntType(32), 0))
        if smallest.type != ir.IntType(64):
            smallest = builder.sext(smallest, ir.IntType(64))
        return builder.neg(smallest)

    return types.int64(blocks, types.int64, point, types.int64, types.int64), generate


@intrinsic
def lowest_bit(typing_context: Any, mask: Any) -> tuple[Any, Any]:
    """The number of the lowest bit that is set; the mask must not be zero."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], cgutils.true_bit)

    return types.int64(types.int64), generate
