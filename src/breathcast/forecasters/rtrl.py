"""Real-time recurrent learning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from breathcast.errors import BreathcastError
from breathcast.forecasters.network import Network


@dataclass(frozen=True)
class RTRL(Network):
    """RTRL (Williams and Zipser 1989): the exact gradient of the newest loss through the whole past.

        J ← φ'(z) ∘ (W_a J + ∂(W_a x + W_b u)/∂θ),   Δθ = -eᵀ W_c J on [W_a, W_b],  -e x'ᵀ on W_c

    computed without the influence tensor J, by carrying the error back through the stored Jacobians of past steps: the
    same number at a small part of the cost (see kernels.network). `readout="before"` reads the forecast, and the
    gradient, from the state before the newest input, as the program published with the 2022 paper does; the equations
    of the paper read it after.
    """

    name: ClassVar[str] = "rtrl"
    title: ClassVar[str] = "RNN, RTRL"
    rule: ClassVar[int] = 2
    grid: ClassVar[Mapping[str, Sequence[float]]] = {
        "learning_rate": (0.02, 0.05, 0.1, 0.2),
        "init_std": (0.01, 0.02, 0.05),
        "history": (1.0, 2.5, 4.0, 5.5),
        "hidden": (10, 25, 40, 55),
    }

    hidden: int = 40
    history: float = 4.0
    readout: Literal["after", "before"] = "after"

    def __post_init__(self) -> None:
        """Check the values."""
        super().__post_init__()
        if self.readout not in ("after", "before"):
            raise BreathcastError(f"rtrl: readout is {self.readout!r}", cure="use 'after' or 'before'")
