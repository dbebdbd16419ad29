"""The versions that results depend on."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from breathcast.version import __version__

_PACKAGES = ("numpy", "scipy", "numba", "llvmlite", "polars", "plotly", "typer", "rich")


def versions() -> dict[str, str]:
    """Name and version of Python, of breathcast and of what it is built on; "missing" where a package is not there."""
    return {"python": platform.python_version(), "breathcast": __version__} | {name: _found(name) for name in _PACKAGES}


def _found(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"
