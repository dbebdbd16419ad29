"""Where the compiled methods are kept, and whether they are there."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class KernelCache:
    """The state of the cache of compiled code."""

    folder: Path
    writable: bool
    filled: bool  # whether something was compiled for this Python before; a changed processor or source compiles anew


def kernel_functions() -> list[Any]:
    """The compiled functions that methods call; none with NUMBA_DISABLE_JIT=1."""
    from breathcast.kernels import linear, network

    functions = [network.advance, linear.advance, linear.predict]
    return [function for function in functions if hasattr(function, "stats")]


def kernel_cache() -> KernelCache | None:
    """Look at the cache without compiling anything; None where nothing is compiled."""
    functions = kernel_functions()
    if not functions:
        return None
    folder = Path(functions[0].stats.cache_path)
    existing = next(place for place in (folder, *folder.parents) if place.exists())
    return KernelCache(
        folder=folder,
        writable=os.access(existing, os.W_OK),
        filled=all(any(folder.glob(f"*{function.__name__}-*.nbi")) for function in functions),
    )


def compiled_before() -> bool:
    """Whether the first call will probably be quick."""
    cache = kernel_cache()
    return cache is None or cache.filled
