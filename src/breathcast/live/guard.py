"""Whether measured positions can be true: finite, near where the markers began, and without impossible jumps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from breathcast.forecasters.method import Array
from breathcast.live.safety import Cause, Finding
from breathcast.live.settings import SessionSettings

_FARTHEST = 1e5  # mm from the origin of the coordinates; beyond that it is another unit, or no position


class Guard:
    """Turns what cannot be true into missing, and says so. A marker may jump further the longer it was not seen."""

    def __init__(self, settings: SessionSettings) -> None:
        """No marker has been seen."""
        self._names, self._limits = settings.marker_names, settings.limits
        self._gap = settings.limits.gap_ms / 1000 * settings.rate
        markers = len(self._names)
        self._home = np.full(settings.shape, np.nan)  # where each marker began
        self._last = np.full(settings.shape, np.nan)  # where each was last seen
        self._unseen = np.zeros(markers)  # periods since then

    def check(self, positions: Array, slots: int) -> tuple[Array, list[Finding], bool]:
        """The positions with NaN for what cannot be true, what was found, and whether a marker was refused."""
        self._unseen += slots
        findings: list[Finding] = []
        clean = positions.copy()
        for marker, why in self._refused(positions):
            clean[marker] = np.nan
            findings.append(Finding(*why))
        refused = bool(findings)
        seen = np.asarray(~np.isnan(clean).any(axis=1))
        fresh = seen & np.isnan(self._home).any(axis=1)
        self._home[fresh] = clean[fresh]
        self._last[seen] = clean[seen]
        self._unseen[seen] = 0
        if not seen.all():
            findings += self._missing(seen)
        return clean, findings, refused

    def _refused(self, positions: Array) -> list[tuple[int, tuple[Cause, str]]]:
        with np.errstate(invalid="ignore", over="ignore"):
            step = np.sqrt(((positions - self._last) ** 2).sum(axis=1))
            radius = np.sqrt(((positions - self._home) ** 2).sum(axis=1))
            endless = np.asarray((np.abs(positions) > _FARTHEST).any(axis=1))
            jumped = step > self._limits.max_step_mm * self._unseen
            strayed = radius > self._limits.max_radius_mm
        found = []
        for marker in np.flatnonzero(np.asarray(endless | jumped | strayed)):
            name = self._names[marker]
            if endless[marker]:
                why = (Cause.IMPLAUSIBLE, f"{name} is more than {_FARTHEST / 1000:g} m from the origin")
            elif jumped[marker]:
                why = (Cause.IMPLAUSIBLE, f"{name} moved {step[marker]:.3g} mm since it was last seen")
            else:
                why = (Cause.IMPLAUSIBLE, f"{name} is {radius[marker]:.3g} mm from where it began")
            found.append((int(marker), why))
        return found

    def _missing(self, seen: NDArray[np.bool_]) -> list[Finding]:
        marker = int(np.argmax(np.where(seen, -1.0, self._unseen)))
        detail = f"{self._names[marker]} is missing"
        return [Finding(Cause.MARKER if self._unseen[marker] > self._gap else Cause.LOST, detail)]

    def recentre(self) -> None:
        """An operator has looked: the next position of each marker is where it begins, however far it is."""
        self._home[...] = np.nan
        self._last[...] = np.nan

    def state(self) -> dict[str, NDArray[Any]]:
        """Everything that the next judgement depends on."""
        return {"home": self._home.copy(), "last": self._last.copy(), "unseen": self._unseen.copy()}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on from what `state` gave."""
        self._home[...], self._last[...], self._unseen[...] = state["home"], state["last"], state["unseen"]
