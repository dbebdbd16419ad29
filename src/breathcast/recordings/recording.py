"""What was measured: positions of markers over time at a constant rate, with what is known about their defects."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from breathcast.errors import BreathcastError


class Recording:
    """Marker positions in mm, sampled uniformly; a missing coordinate is NaN and stays NaN.

    positions  (time, marker, dimension), float64, C-ordered, read-only; a 1-D trace has one marker, one dimension
    times      seconds from the first sample, read-only; `arange(n) / rate` unless given
    rate       samples per second (Hz)
    markers    a name for each marker
    notes      in plain words, what a reader assumed or repaired: nothing is mended silently
    labels     how the person breathes ("regular", "cough", ...), where somebody said so
    """

    def __init__(
        self,
        positions: ArrayLike,
        rate: float,
        *,
        times: ArrayLike | None = None,
        markers: Sequence[str] = (),
        name: str = "recording",
        notes: Sequence[str] = (),
        labels: Sequence[str] = (),
    ) -> None:
        """Copy and check the arrays; a 1-D array is taken as the trace of one marker along one axis."""
        array = np.array(positions, dtype=np.float64, order="C")
        if array.ndim == 1:
            array = array[:, None, None]
        if array.ndim != 3 or 0 in array.shape[1:]:
            cure = "give (time, marker, dimension), for example positions.reshape(-1, 3, 3), or one 1-D trace"
            raise BreathcastError(f"positions have the shape {array.shape}", cure=cure)
        if np.isinf(array).any():
            raise BreathcastError("a position is infinite", cure="mark missing samples as NaN")
        if not (np.isfinite(rate) and rate > 0):
            raise BreathcastError(f"the rate is {rate}", cure="give the sampling rate in Hz, a positive number")
        self.positions: NDArray[np.float64] = array
        self.rate = float(rate)
        self.times: NDArray[np.float64] = np.arange(len(array)) / rate if times is None else np.array(times, np.float64)
        self.markers = tuple(markers) or tuple(f"marker {i + 1}" for i in range(array.shape[1]))
        self.name = name
        self.notes = tuple(notes)
        self.labels = tuple(labels)
        if self.times.shape != (len(array),):
            raise BreathcastError(f"{len(array)} samples but {self.times.size} times", cure="give one time a sample")
        if len(self.markers) != array.shape[1]:
            raise BreathcastError(
                f"{len(self.markers)} marker names for {array.shape[1]} markers", cure="give one name a marker"
            )
        self.positions.flags.writeable = False
        self.times.flags.writeable = False

    def __len__(self) -> int:
        return len(self.positions)

    def __repr__(self) -> str:
        return (
            f"Recording({self.name!r}, {len(self)} samples at {self.rate:g} Hz = {self.duration:.1f} s, "
            f"{len(self.markers)} × {self.dimension}-D, {int(self.missing.sum())} missing)"
        )

    @property
    def duration(self) -> float:
        """Seconds from the first sample to the end of the last one."""
        return len(self) / self.rate

    @property
    def dimension(self) -> int:
        """Coordinates per marker: 3 in space, 1 for a trace."""
        return int(self.positions.shape[2])

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Which (time, marker) pairs lack at least one coordinate."""
        return np.asarray(np.isnan(self.positions).any(axis=2))
