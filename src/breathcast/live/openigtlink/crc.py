"""CRC-64 of ECMA-182 as OpenIGTLink uses it: most significant bit first, start 0, no final inversion."""

from __future__ import annotations

POLYNOMIAL = 0x42F0E1EBA9EA3693
_MASK = (1 << 64) - 1


def _entry(byte: int) -> int:
    """The remainder of one byte followed by 64 zero bits."""
    rest = byte << 56
    for _ in range(8):
        rest = (rest << 1) ^ (POLYNOMIAL if rest >> 63 else 0)
        rest &= _MASK
    return rest


_TABLE = tuple(_entry(byte) for byte in range(256))


def crc64(data: bytes | bytearray | memoryview, start: int = 0) -> int:
    """The checksum of `data`; `start` is the checksum of what went before."""
    rest, table = start, _TABLE
    for byte in data:
        # The top byte is cut off before the shift, so that the number never grows beyond 64 bits.
        rest = ((rest & 0x00FFFFFFFFFFFFFF) << 8) ^ table[(rest >> 56) ^ byte]
    return rest
