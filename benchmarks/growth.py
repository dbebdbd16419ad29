"""How cost grows: t = c x^a, by least squares on logarithms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Power:
    """A fitted power law."""

    exponent: float
    factor: float
    residual: float  # root mean square of the relative deviations (of the logarithms)


def fit(x: Sequence[float], t: Sequence[float]) -> Power:
    """The law through positive points, at least two of them at different x."""
    logs = np.log(np.asarray(x, dtype=float)), np.log(np.asarray(t, dtype=float))
    design = np.column_stack([logs[0], np.ones(len(logs[0]))])
    (exponent, offset), *_ = np.linalg.lstsq(design, logs[1], rcond=None)
    residual = float(np.sqrt(np.mean((design @ [exponent, offset] - logs[1]) ** 2)))
    return Power(float(exponent), float(np.exp(offset)), residual)
