"""A network whose recurrent weights stay as drawn: what learning them is worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from breathcast.forecasters.network import Network


@dataclass(frozen=True)
class Fixed(Network):
    """Fixed W_a and W_b; only the readout learns, ΔW_c = -e x'ᵀ: a lower bound for the rules (Pohl et al. 2025)."""

    name: ClassVar[str] = "fixed"
    title: ClassVar[str] = "RNN, fixed weights"
    rule: ClassVar[int] = 0
    grid: ClassVar[Mapping[str, Sequence[float]]] = {
        "learning_rate": (0.005, 0.01, 0.02),
        "history": (1.2, 2.4, 3.6, 4.8, 6.0),
        "hidden": (30, 60, 90, 120, 150, 180),
    }

    history: float = 3.6
    learning_rate: float = 0.01
    clip: float = 100.0
