"""Whatever bytes a reader is given, it returns a recording or says what is wrong; it never fails otherwise."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from breathcast.errors import BreathcastError
from breathcast.recordings.options import Options
from breathcast.recordings.reading import FORMATS, read
from breathcast.recordings.recording import Recording
from breathcast.recordings.writing import WRITERS
from tests.recordings.reader_files import LAST, extmarker, extmarker_rows, mat, sine, vxp, vxp_rows

quick = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])

SOUND = {
    "csv": WRITERS[".csv"](sine(40, notes=["a note"])),
    "tsv": WRITERS[".tsv"](sine(40, markers=1, dimension=1)),
    "parquet": WRITERS[".parquet"](sine(40)),
    "mat": mat(positions=sine(40).positions, rate=10.0, markers=np.array(["é", "b"], dtype=object), other={"a": 1}),
    "vxp": vxp(vxp_rows(40)),
    "phantom": WRITERS[".txt"](sine(40, markers=1)),
    "extmarker": extmarker([*extmarker_rows(list(range(0, 240, 6))), LAST]),
}
TEXTS = [name for name in SOUND if name not in {"parquet", "mat"}]


def survived(path: Path, data: bytes, format: str, **options: object) -> Recording | None:
    """Read these bytes; an error must have a text for a user and name the file."""
    path.write_bytes(data)
    try:
        recording = FORMATS[format].read(path, Options(**options))
    except BreathcastError as error:
        assert error.file == path
        assert error.cure
        assert str(error).isprintable() or "\n" in str(error)
        return None
    assert len(recording)
    assert recording.notes
    return recording


@pytest.mark.parametrize("format", FORMATS)
@quick
@given(data=st.binary(max_size=400) | st.text(max_size=200).map(lambda text: text.encode()))
def test_arbitrary_bytes(tmp_path, format, data):
    survived(tmp_path / "a", data, format)
    survived(tmp_path / "a", data, format, rate=10)


@quick
@given(data=st.binary(max_size=200), ending=st.sampled_from(["csv", "mat", "parquet", "vxp", "txt", "dat", "md", ""]))
def test_arbitrary_bytes_whose_format_must_be_found(tmp_path, data, ending):
    path = tmp_path / f"a.{ending}"
    path.write_bytes(data)
    for target in (path, tmp_path):
        with pytest.raises(BreathcastError) if not data.strip() else _either():
            read(target, rate=10)
    path.unlink()


class _either:  # noqa: N801
    """Whether it fails as it may, or not at all."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        return kind is None or issubclass(kind, BreathcastError)


@pytest.mark.parametrize("format", SOUND)
@quick
@given(data=st.data())
def test_torn_files(tmp_path, format, data):
    sound = SOUND[format]
    cut = data.draw(st.integers(0, len(sound)))
    recording = survived(tmp_path / "a", sound[:cut], format)
    if recording is not None:
        assert len(recording) <= 40


@pytest.mark.parametrize("format", SOUND)
@quick
@given(data=st.data())
def test_files_whose_end_was_never_written(tmp_path, format, data):
    sound = SOUND[format]
    cut = data.draw(st.integers(0, len(sound)))
    survived(tmp_path / "a", sound[:cut].ljust(len(sound), b"\0"), format)


# Not Parquet: about one in some thousand such files makes its parser abort the process (docs/formats.md says so).
@pytest.mark.parametrize("format", [name for name in SOUND if name != "parquet"])
@quick
@given(seed=st.integers(0, 2**32))
def test_damaged_files(tmp_path, format, seed):
    chance = random.Random(seed)
    damaged = bytearray(SOUND[format])
    for _ in range(chance.choice([1, 3, 20])):
        at = chance.randrange(len(damaged))
        change = chance.randrange(3)
        if change == 0:
            damaged[at] = chance.choice([chance.randrange(256), ord("9"), ord("-"), ord('"'), ord("\n")])
        elif change == 1:
            del damaged[at : at + chance.choice([1, 8, 50])]
        else:
            damaged[at:at] = chance.randbytes(chance.choice([1, 8, 50]))
    survived(tmp_path / "a", bytes(damaged), format)


@pytest.mark.parametrize("format", ["csv", "phantom", "vxp"])
@quick
@given(order=st.permutations(range(40)))
def test_shuffled_rows_come_back_in_order(tmp_path, format, order):
    *head, first = SOUND[format].splitlines(keepends=True)[:-39]
    rows = [first, *SOUND[format].splitlines(keepends=True)[-39:]]
    shuffled = survived(tmp_path / "a", b"".join([*head, *(rows[i] for i in order)]), format)
    sound = survived(tmp_path / "a", SOUND[format], format)
    assert shuffled is not None
    assert sound is not None
    assert shuffled.positions.tobytes() == sound.positions.tobytes()
    assert any("sorted by time" in note for note in shuffled.notes) == (list(order) != sorted(order))


@pytest.mark.parametrize("format", TEXTS)
@quick
@given(data=st.data())
def test_shuffled_lines(tmp_path, format, data):
    lines = data.draw(st.permutations(SOUND[format].splitlines(keepends=True)))
    survived(tmp_path / "a", b"".join(lines), format)


@pytest.mark.parametrize("format", TEXTS)
@quick
@given(data=st.data())
def test_mixed_encodings(tmp_path, format, data):
    encodings = st.sampled_from(["utf-8", "latin-1", "utf-16", "utf-16-le", "utf-8-sig"])
    lines = SOUND[format].decode().splitlines(keepends=True)
    odd = data.draw(st.integers(0, len(lines) - 1))
    lines[odd] = lines[odd].rstrip("\r\n") + data.draw(st.text(max_size=5)) + "\n"
    first, second = data.draw(encodings), data.draw(encodings)
    pieces = "".join(lines[:odd]).encode(first, "replace") + "".join(lines[odd:]).encode(second, "replace")
    survived(tmp_path / "a", pieces, format)


@pytest.mark.parametrize("format", SOUND)
def test_empty_files(tmp_path, format):
    for nothing in (b"", b"\n", b" \r\n\t\r\n", b"\xef\xbb\xbf", b"\xff\xfe", b"\0", b"\0" * 5000):
        assert survived(tmp_path / "a", nothing, format, rate=10) is None


@pytest.mark.parametrize("format", SOUND)
def test_huge_numbers(tmp_path, format):
    if format in TEXTS:
        for number in (b"9" * 400, b"1e308", b"-1e308", b"1e-320"):
            lines = SOUND[format].splitlines()
            for index in (-1, -5, len(lines) // 2):
                fields = lines[index].replace(b";", b",").split(b",")
                changed = lines.copy()
                changed[index] = lines[index].replace(fields[0], number, 1)
                survived(tmp_path / "a", b"\n".join(changed), format)


def test_many_lines_of_nothing_useful(tmp_path):
    assert survived(tmp_path / "a", b"a,b\n" * 100_000, "csv") is None
    assert survived(tmp_path / "a", b"," * 100_000, "csv") is None
    assert survived(tmp_path / "a", b'"' * 100_001, "csv") is None
    assert survived(tmp_path / "a", b"_" * 100_000 + b"\n1\n2\n", "csv") is None
    assert survived(tmp_path / "a", b"x-" * 100_000 + b"\n1\n2\n", "csv") is None
