"""The numbers and texts in a MATLAB v5 or v7 file.

Not scipy.io.loadmat, which can crash or fill the memory on a damaged file: here every size is checked before it is
used. Structures, objects, sparse and complex arrays are passed over.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterator

import numpy as np

from breathcast.recordings.clock import Floats

HEADER = 128  # bytes
LARGEST = 2**31  # bytes of one variable
MATRIX, COMPRESSED = 14, 15
NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
ENCODINGS = {1: "utf-8", 2: "utf-8", 4: "utf-16", 16: "utf-8", 17: "utf-16", 18: "utf-32"}
CELL, CHAR, FIRST_NUMERIC, LAST_NUMERIC = 1, 4, 6, 15  # classes of arrays
COMPLEX = 0x0800

Value = Floats | list[str]
Elements = Iterator[tuple[int, memoryview]]


class DamagedError(Exception):
    """The bytes do not have the structure of a .mat file; the text says where they fail."""


def variables(data: bytes) -> dict[str, Value]:
    """Each variable by its name: an array of numbers as float64, a text or a cell array of texts as a list."""
    order = {b"IM": "<", b"MI": ">"}.get(data[126:HEADER])
    if order is None:
        raise DamagedError("the header does not end as it must")
    found: dict[str, Value] = {}
    for kind, body in _elements(memoryview(data)[HEADER:], order):
        content = _inflated(body, order) if kind == COMPRESSED else body if kind == MATRIX else None
        if content is not None:
            name, value = _variable(content, order)
            if value is not None:
                found[name] = value
    return found


def _elements(data: memoryview, order: str) -> Elements:
    """The kind and content of each element, one after the other."""
    at = 0
    while at < len(data):
        if len(data) - at < 8:
            raise DamagedError("it ends within an element")
        kind, size = struct.unpack_from(order + "II", data, at)
        start = at + 8
        following = start + size + (0 if kind == COMPRESSED else -size % 8)
        if kind >> 16:  # a short element holds its content in the second half of its tag
            kind, size, start, following = kind & 0xFFFF, kind >> 16, at + 4, at + 8
        if size > len(data) - start or (start < at + 8 and size > 4):
            raise DamagedError("an element is longer than the file")
        yield kind, data[start : start + size]
        at = following


def _inflated(body: memoryview, order: str) -> memoryview | None:
    """The matrix in a compressed element."""
    inflate = zlib.decompressobj()
    try:
        content = inflate.decompress(body, LARGEST)
    except zlib.error as error:
        raise DamagedError("its compressed data is damaged") from error
    if not inflate.eof:
        raise DamagedError("its compressed data is not complete, or too large")
    return next((matrix for kind, matrix in _elements(memoryview(content), order) if kind == MATRIX), None)


def _variable(body: memoryview, order: str, within_cell: bool = False) -> tuple[str, Value | None]:
    """The name and the value of a matrix; None for a value of a kind that is passed over."""
    parts = _elements(body, order)
    flags = _numbers(*_next(parts), order)
    dims = [int(size) for size in _numbers(*_next(parts), order)]
    name = bytes(_next(parts)[1]).decode("utf-8", errors="replace")
    if flags.size != 2 or not dims or min(dims) < 0:
        raise DamagedError("a variable does not state its shape")
    kind = int(flags[0]) & 0xFF
    if kind == CELL and not within_cell:
        cells = [_variable(cell, order, within_cell=True)[1] for which, cell in parts if which == MATRIX]
        return name, [text for cell in cells if isinstance(cell, list) for text in cell]
    if kind == CHAR:
        return name, _rows(*_next(parts), dims, order)
    if FIRST_NUMERIC <= kind <= LAST_NUMERIC and not int(flags[0]) & COMPLEX:
        values = _numbers(*_next(parts), order)
        if values.size != math.prod(dims):
            raise DamagedError("a variable is not as large as it says")
        return name, values.reshape(dims, order="F")
    return name, None


def _next(parts: Elements) -> tuple[int, memoryview]:
    try:
        return next(parts)
    except StopIteration as error:
        raise DamagedError("a variable is not complete") from error


def _numbers(kind: int, content: memoryview, order: str) -> Floats:
    if kind not in NUMBERS or len(content) % int(NUMBERS[kind][1]):
        raise DamagedError("a variable does not hold the numbers that it says")
    with np.errstate(invalid="ignore"):
        return np.frombuffer(content, order + NUMBERS[kind]).astype(np.float64)


def _rows(kind: int, content: memoryview, dims: list[int], order: str) -> list[str]:
    """The rows of a char array; MATLAB stores them column by column."""
    if kind not in ENCODINGS:
        raise DamagedError("a text is in no known encoding")
    encoding = ENCODINGS[kind] + ("" if ENCODINGS[kind] == "utf-8" else "-le" if order == "<" else "-be")
    text = bytes(content).decode(encoding, errors="replace")
    rows = dims[0]
    if rows <= 1 or rows > len(text) or len(text) != math.prod(dims):
        return [text]
    return [text[row::rows].rstrip() for row in range(rows)]
