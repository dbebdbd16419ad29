"""Results as JSON text, and numbers as a person reads them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from breathcast.evaluation.scores import Score


def to_json(data: Any, *, indent: int | None = 2) -> str:
    """JSON text that any reader takes: what is not a finite number becomes null."""
    return json.dumps(_finite(data), indent=indent, ensure_ascii=False, allow_nan=False)


def _finite(data: Any) -> Any:
    if isinstance(data, float):
        return data if math.isfinite(data) else None
    if isinstance(data, Mapping):
        return {key: _finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(value) for value in data]
    return data


def number(value: float | None, decimals: int) -> str:
    """A number with this many decimals; in powers of ten where it is huge, a dash where there is none."""
    if value is None or not math.isfinite(value):
        return "–"
    return f"{value:.{decimals}f}" if abs(value) < 1e5 else f"{value:.1e}"


def mean_and_interval(score: Score, decimals: int) -> str:
    """Mean ± 95 % interval; the mean alone where chance plays no part or the interval is not known."""
    if not math.isfinite(score.mean):
        return "diverged" if score.diverged else "–"
    mark = "†" if score.diverged else ""
    half = "" if not score.interval else f" ±{number(score.interval, decimals)}"
    return number(score.mean, decimals) + half + mark


def gain(value: float, reference: float) -> str:
    """The change against a reference in per cent: -45 % is an error nearly halved."""
    if not (math.isfinite(value) and math.isfinite(reference) and reference > 0):
        return "–"
    percent = 100 * (value / reference - 1)
    if abs(percent) > 999:
        return "> +999 %"
    return f"{percent:+.0f} %".replace("-", "−") if round(percent) else "0 %"


def listed(values: Sequence[float]) -> str:
    """Numbers in a sentence: 0.1, 0.5 and 2."""
    words = [f"{value:g}" for value in values]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
