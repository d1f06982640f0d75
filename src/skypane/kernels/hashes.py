"""Spark's ``xxhash64`` of columns: each hash goes on from the hash of the columns before."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import numba
import numpy as np
import numpy.typing as npt

from skypane.kernels.arrays import Indices, Mask, as_integers

Hashes: TypeAlias = npt.NDArray[np.uint64]
Bytes: TypeAlias = npt.NDArray[np.uint8]

SEED: Final = 42
"""Spark's."""
_P1, _P2, _P3, _P4, _P5 = (
    np.uint64(prime)
    for prime in (
        0x9E3779B185EBCA87,
        0xC2B2AE3D27D4EB4F,
        0x165667B19E3779F9,
        0x85EBCA77C2B2AE63,
        0x27D4EB2F165667C5,
    )
)
_LOW = np.uint64(0xFFFFFFFF)
_WORD = np.uint64(64)


@numba.njit(cache=True, nogil=True)
def _rotated(word: np.uint64, bits: int) -> Any:
    left = np.uint64(bits)
    return (word << left) | (word >> (_WORD - left))


@numba.njit(cache=True, nogil=True)
def _mixed(word: np.uint64) -> Any:
    word = (word ^ (word >> np.uint64(33))) * _P2
    word = (word ^ (word >> np.uint64(29))) * _P3
    return word ^ (word >> np.uint64(32))


@numba.njit(cache=True, nogil=True)
def _with_eight(seen: np.uint64, word: np.uint64) -> Any:
    return _rotated(seen ^ (_rotated(word * _P2, 31) * _P1), 27) * _P1 + _P4


@numba.njit(cache=True, nogil=True)
def _with_four(seen: np.uint64, word: np.uint64) -> Any:
    return _rotated(seen ^ (word * _P1), 23) * _P2 + _P3


@numba.njit(cache=True, nogil=True)
def _word(data: Bytes, at: int, size: int) -> Any:
    """So many bytes, the lowest first."""
    word = np.uint64(0)
    for place in range(size):
        word |= np.uint64(data[at + place]) << np.uint64(8 * place)
    return word


@numba.njit(cache=True, nogil=True)
def _round(lane: np.uint64, word: np.uint64) -> Any:
    return _rotated(lane + word * _P2, 31) * _P1


@numba.njit(cache=True, nogil=True)
def _of_stripes(data: Bytes, low: int, stripes: int, seed: np.uint64) -> Any:
    """Of long texts, 32 bytes at a time."""
    a, b, c, d = seed + _P1 + _P2, seed + _P2, seed, seed - _P1
    for stripe in range(stripes):
        at = low + 32 * stripe
        a, b = _round(a, _word(data, at, 8)), _round(b, _word(data, at + 8, 8))
        c, d = _round(c, _word(data, at + 16, 8)), _round(d, _word(data, at + 24, 8))
    seen = _rotated(a, 1) + _rotated(b, 7) + _rotated(c, 12) + _rotated(d, 18)
    for lane in (a, b, c, d):
        seen = (seen ^ _round(np.uint64(0), lane)) * _P1 + _P4
    return seen


@numba.njit(cache=True, nogil=True)
def _of_text(data: Bytes, low: int, high: int, seed: np.uint64) -> Any:
    size = high - low
    seen = _of_stripes(data, low, size // 32, seed) if size >= 32 else seed + _P5
    seen += np.uint64(size)
    at = low + size // 32 * 32
    while at + 8 <= high:
        seen = _with_eight(seen, _word(data, at, 8))
        at += 8
    if at + 4 <= high:
        seen = _with_four(seen, _word(data, at, 4))
        at += 4
    while at < high:
        seen = _rotated(seen ^ (np.uint64(data[at]) * _P5), 11) * _P1
        at += 1
    return _mixed(seen)


@numba.njit(cache=True, nogil=True)
def _hash_numbers(values: Indices, known: Mask, wide: bool, hashes: Hashes) -> None:
    for row in range(len(values)):
        if not known[row]:
            continue
        word, seed = np.uint64(values[row]), hashes[row] + _P5
        if wide:
            hashes[row] = _mixed(_with_eight(seed + np.uint64(8), word))
        else:
            hashes[row] = _mixed(_with_four(seed + np.uint64(4), word & _LOW))


@numba.njit(cache=True, nogil=True)
def _hash_texts(data: Bytes, offsets: Indices, known: Mask, hashes: Hashes) -> None:
    for row in range(len(known)):
        if known[row]:
            hashes[row] = _of_text(data, offsets[row], offsets[row + 1], hashes[row])


def seeds(rows: int) -> Hashes:
    """The hash of no columns."""
    return np.full(rows, SEED, dtype=np.uint64)


def hash_numbers(values: npt.ArrayLike, known: Mask, hashes: Hashes, *, wide: bool) -> None:
    """One column more, of whole numbers of eight bytes, or of four and fewer; those not known change nothing."""
    _hash_numbers(as_integers(values), known, wide, hashes)


def hash_texts(data: Bytes, offsets: npt.ArrayLike, known: Mask, hashes: Hashes) -> None:
    """One column more, of texts as bytes that lie behind each other."""
    _hash_texts(data, as_integers(offsets), known, hashes)


def warm_hashes() -> None:
    """Compile both."""
    known = np.ones(1, dtype=np.bool_)
    hash_numbers([1], known, seeds(1), wide=True)
    hash_texts(np.zeros(1, dtype=np.uint8), [0, 1], known, seeds(1))
