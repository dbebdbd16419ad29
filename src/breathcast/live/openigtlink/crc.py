"""CRC-64 of ECMA-182 as OpenIGTLink uses it: most significant bit first, start 0, no final inversion."""

from __future__ import annotations

import struct

POLYNOMIAL = 0x42F0E1EBA9EA3693
_MASK = (1 << 64) - 1

Table = tuple[int, ...]


def _remainder(byte: int) -> int:
    """The remainder of one byte followed by 64 zero bits."""
    rest = byte << 56
    for _ in range(8):
        rest = (rest << 1) ^ (POLYNOMIAL if rest >> 63 else 0)
        rest &= _MASK
    return rest


def _tables() -> tuple[Table, ...]:
    """For each of eight places the remainders of a byte there: eight bytes are then one step, three times as fast."""
    first = tuple(_remainder(byte) for byte in range(256))
    tables = [first]
    for _ in range(7):
        # One more zero byte behind: the step that `crc64` takes for a single byte, with that byte 0.
        tables.append(tuple((rest << 8 & _MASK) ^ first[rest >> 56] for rest in tables[-1]))
    return tuple(tables)


_T0, _T1, _T2, _T3, _T4, _T5, _T6, _T7 = _tables()


def crc64(data: bytes | bytearray | memoryview, start: int = 0) -> int:
    """The checksum of `data`; `start` is the checksum of what went before."""
    rest, words = start, len(data) // 8
    for word in struct.unpack_from(f">{words}Q", data):
        a, b, c, d, e, f, g, h = (rest ^ word).to_bytes(8, "big")
        rest = _T7[a] ^ _T6[b] ^ _T5[c] ^ _T4[d] ^ _T3[e] ^ _T2[f] ^ _T1[g] ^ _T0[h]
    for byte in data[8 * words :]:
        rest = (rest << 8 & _MASK) ^ _T0[(rest >> 56) ^ byte]
    return rest
