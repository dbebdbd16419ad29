"""Unbiased on-line recurrent optimisation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from breathcast.forecasters.network import Network


@dataclass(frozen=True)
class UORO(Network):
    """UORO (Tallec and Ollivier 2017; Pohl et al. 2022, Algorithm 1): the influence ∂x/∂θ as a random rank-one x̃ θ̃.

        z = W_a x + W_b u,  x' = tanh(z),  y = W_c x',  e = y* - y
        Δθ = (-eᵀ W_c x̃) θ̃ on [W_a, W_b],  -e x'ᵀ on W_c       (with x̃, θ̃ from before this step)
        x̃ ← ρ0 φ'(z) ∘ (W_a x̃) + ρ1 ν,   θ̃ ← θ̃ / ρ0 + (ν ∘ φ'(z)) [x, u]ᵀ / ρ1,   ν random signs
        ρ0 = √(‖θ̃‖ / ‖φ' ∘ W_a x̃‖),   ρ1 = √(‖(ν ∘ φ') [x, u]ᵀ‖ / ‖ν‖),  each with ε = 1e-7 as in the paper

    The tangent φ'(z) ∘ (W_a x̃) is exact; the paper approximates it by a finite difference with ε = 1e-7.
    The defaults are those the paper found best on average; its grid is in `grid`.
    """

    name: ClassVar[str] = "uoro"
    title: ClassVar[str] = "RNN, UORO"
    rule: ClassVar[int] = 1
    grid: ClassVar[Mapping[str, Sequence[float]]] = {
        "learning_rate": (0.05, 0.1, 0.2),
        "init_std": (0.02, 0.05),
        "history": (1.0, 3.0, 5.0, 7.0, 9.0),
        "hidden": (10, 30, 50, 70, 90),
    }
