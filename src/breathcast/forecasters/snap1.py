"""Sparse one-step approximation of real-time recurrent learning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from breathcast.forecasters.network import Network


@dataclass(frozen=True)
class SnAp1(Network):
    """SnAp-1 (Menick et al. 2020): RTRL that keeps only the influence of a unit's own incoming weights on it.

        I[i, j] ← φ'(z_i) (W_a[i, i] I[i, j] + v_j),  v = [x, u],   ΔW[i, j] = (-eᵀ W_c)_i I[i, j],  -e x'ᵀ on W_c

    The defaults and the grid are those of Pohl et al. 2025.
    """

    name: ClassVar[str] = "snap1"
    title: ClassVar[str] = "RNN, SnAp-1"
    rule: ClassVar[int] = 3
    grid: ClassVar[Mapping[str, Sequence[float]]] = {
        "learning_rate": (0.005, 0.01, 0.02),
        "history": (1.2, 2.4, 3.6, 4.8, 6.0),
        "hidden": (30, 60, 90, 120, 150, 180),
    }

    history: float = 3.6
    learning_rate: float = 0.01
    clip: float = 100.0
