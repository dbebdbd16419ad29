"""The other end of OpenIGTLink: plays positions into a server, ours or another program's."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Literal

import numpy as np

from breathcast.errors import BreathcastError
from breathcast.forecasters.method import Array
from breathcast.live.clock import now
from breathcast.live.openigtlink.contents import Element, Text, TrackingData, Transform, matrix_at
from breathcast.live.openigtlink.header import stamp_of
from breathcast.live.openigtlink.message import Decoder, Message, Refused, encode
from breathcast.live.openigtlink.names import DETAIL, TRACKING, short_names

Kind = Literal["TDATA", "TRANSFORM"]

_CHUNK = 1 << 16
_PATIENCE_S = 10.0  # for a connection to be made, and for a peer that does not read
_FAREWELL_S = 1.0  # for the peer to hang up after us
_CURE = "start the OpenIGTLink server first, and check host and port"


class IgtlSender:
    """One connection to a server. Time stamps begin with the time of sending, and go on as the samples' times do."""

    def __init__(
        self,
        host: str,
        port: int,
        markers: Sequence[str],
        kind: Kind = "TDATA",
        heard: Callable[[Message], None] | None = None,
    ) -> None:
        """Connect; `heard` is given what the server sends, in another thread."""
        self.answered = 0  # outputs of a breathcast server; other programs send none
        self._names, self._kind, self._heard = short_names(markers), kind, heard
        self._offset: float | None = None  # from the time of a sample to seconds since 1970
        try:
            self._socket = socket.create_connection((host, port), _PATIENCE_S)
        except OSError as error:
            problem = f"nothing listens at igtl://{host}:{port}: {error.strerror or error}"
            raise BreathcastError(problem, cure=_CURE) from error
        self._hung_up = False
        self._reader = threading.Thread(target=self._read, name="OpenIGTLink answers", daemon=True)
        self._reader.start()

    def send(self, positions: Array, time: float) -> None:
        """One sample: (marker, dimension) in mm, NaN where missing; the time in s."""
        if self._offset is None:
            self._offset = now() - time
        messages = sample_messages(positions, self._names, time + self._offset, self._kind)
        try:
            if self._hung_up:
                raise BrokenPipeError(None, "it closed the connection")
            self._socket.sendall(b"".join(map(encode, messages)))
        except OSError as error:
            raise BreathcastError(f"the OpenIGTLink server is gone: {error.strerror or error}", cure=_CURE) from error

    def close(self) -> None:
        """Hang up; what was sent before still arrives.

        A connection that is closed with something unread is reset, and what the server has not read yet is lost. So it
        is told first that no more will come, and heard until it hangs up too, or for a second.
        """
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)
        self._reader.join(_FAREWELL_S)
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._reader.join(_FAREWELL_S)
        self._socket.close()

    def _read(self) -> None:
        """Take what the server sends off the line: a client that does not read is a slow one."""
        decoder = Decoder()
        while True:
            try:
                data = self._socket.recv(_CHUNK)
            except TimeoutError:
                continue  # it has nothing to say
            except OSError:
                data = b""
            if not data:
                self._hung_up = True
                return
            for event in decoder.feed(data):
                self._take(event)

    def _take(self, event: Message | Refused) -> None:
        if isinstance(event, Refused):
            return
        self.answered += event.device == DETAIL and isinstance(event.content, Text)
        if self._heard is not None:
            self._heard(event)


def sample_messages(positions: Array, names: Sequence[str], time: float | None, kind: Kind) -> Iterator[Message]:
    """One sample as messages; a marker with a missing coordinate is left out, as the protocol has it."""
    stamp = stamp_of(time)
    seen = [
        (name, matrix_at(np.concatenate([row, np.zeros(3 - len(row))])))
        for name, row in zip(names, positions, strict=True)
        if np.isfinite(row).all()
    ]
    if kind == "TDATA":
        yield Message(TrackingData(tuple(Element(name, matrix) for name, matrix in seen)), TRACKING, stamp)
    else:
        for name, matrix in seen:
            yield Message(Transform(matrix), name, stamp)
