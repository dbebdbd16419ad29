"""Decoupled neural interfaces: learned credit instead of carried-back error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from breathcast.forecasters.network import Network


@dataclass(frozen=True)
class DNI(Network):
    """DNI (Jaderberg et al. 2017; linear as in Marschall et al. 2020; as set up by Pohl et al. 2025).

        ã = [x, y*, 1] of the step before, ã' = [x', y*', 1];  credit c = ã A,  D = φ'(z) ∘ W_a
        f = ã A - ∂L/∂x' - ã' A D,   A ← A - α (ãᵀ f - ã'ᵀ (f Dᵀ)),   α = `credit_rate`
        ΔW = (c ∘ φ'(z)) [x, u]ᵀ on [W_a, W_b] with the new A,  -e x'ᵀ on W_c

    The defaults and the grid are those of Pohl et al. 2025.
    """

    name: ClassVar[str] = "dni"
    title: ClassVar[str] = "RNN, DNI"
    rule: ClassVar[int] = 4
    grid: ClassVar[Mapping[str, Sequence[float]]] = {
        "learning_rate": (0.005, 0.01, 0.02),
        "history": (1.2, 2.4, 3.6, 4.8, 6.0),
        "hidden": (30, 60, 90, 120, 150, 180),
    }

    history: float = 3.6
    learning_rate: float = 0.01
    clip: float = 100.0
    credit_rate: float = 0.002  # α

    def __post_init__(self) -> None:
        """Check the values."""
        super().__post_init__()
        self.require(credit_rate=self.credit_rate)
