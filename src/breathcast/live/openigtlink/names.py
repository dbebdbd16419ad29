"""Names that fit into the 20 bytes that OpenIGTLink has for them, and are still told apart."""

from __future__ import annotations

from collections.abc import Sequence

from breathcast.live.openigtlink.header import NAME_SIZE

STATE = "breathcast.state"  # the devices that are not markers; peers keep the newest message of each name
DETAIL = "breathcast.detail"
TRACKING = "breathcast.tdata"

_LABEL = 8  # "@" and a horizon in ms, such as @333.333


def short_names(markers: Sequence[str]) -> tuple[str, ...]:
    """The markers' own names if all leave room for a horizon; else M1, M2, ...: cut names could become equal."""
    if all(len(name.encode()) <= NAME_SIZE - _LABEL for name in markers):
        return tuple(markers)
    numbered = [tuple(f"{letter}{n + 1}" for n in range(len(markers))) for letter in "MNPQ"]
    # Another letter if a marker is called M2 already: it must not be taken for the second one.
    return next((names for names in numbered if not set(names) & set(markers)), numbered[0])


def horizon_labels(horizons_ms: Sequence[float]) -> tuple[str, ...]:
    """A horizon in milliseconds as text; h1, h2, ... where two would read the same."""
    labels = tuple(f"{ms:g}" for ms in horizons_ms)
    if len(set(labels)) == len(labels) and all(len(label) < _LABEL for label in labels):
        return labels
    return tuple(f"h{n + 1}" for n in range(len(labels)))


def forecast_name(marker: str, label: str) -> str:
    """How the forecast of a marker is called on the wire, and with the label 0 what was measured."""
    return f"{marker}@{label}"
