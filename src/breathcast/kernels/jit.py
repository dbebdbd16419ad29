"""How every kernel is compiled: on first use, cached on disk, without the interpreter lock, exact IEEE arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

# No fastmath: results must not depend on where a loop was inlined, and a NaN must stay visible.
# Each kernel keeps its callees in its own file, because a cached caller does not notice a change elsewhere.
jit: Callable[..., Any] = numba.njit(cache=True, nogil=True, error_model="numpy")

# For the forms that are named as summing in another order: sums may be split, and a product and a sum fused. Neither
# assumes that a number is finite, so a NaN stays visible here as well (a test).
_ANY_ORDER: dict[str, Any] = {
    "cache": True,
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"reassoc", "contract"},
}
jit_in_any_order: Callable[..., Any] = numba.njit(**_ANY_ORDER)

# What such a form does at every step. It can allocate nothing and return no array, so none is counted, which took a
# third of the time of small networks; and it becomes part of its caller, to which handing over some twenty arrays took
# as long.
jit_of_a_step: Callable[..., Any] = numba.njit(**_ANY_ORDER | {"_nrt": False, "forceinline": True})
