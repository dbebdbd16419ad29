"""The table of methods: with a line here, the checks, the command line and the documentation know one more."""

from __future__ import annotations

from typing import Any

from breathcast.errors import BreathcastError
from breathcast.forecasters.analog import Analog
from breathcast.forecasters.blend import Blend
from breathcast.forecasters.dni import DNI
from breathcast.forecasters.fixed import Fixed
from breathcast.forecasters.kernel import KernelRegression
from breathcast.forecasters.linear import LinearRegression
from breathcast.forecasters.lms import LMS, NLMS
from breathcast.forecasters.method import Method
from breathcast.forecasters.persistence import Persistence, RepeatTarget
from breathcast.forecasters.ridge import RidgeRegression
from breathcast.forecasters.rtrl import RTRL
from breathcast.forecasters.snap1 import SnAp1
from breathcast.forecasters.uoro import UORO

METHODS: dict[str, type[Method]] = {
    cls.name: cls
    for cls in (
        *(UORO, RTRL, SnAp1, DNI, Fixed, LMS, NLMS, LinearRegression),
        *(RidgeRegression, Analog, KernelRegression, Blend, Persistence, RepeatTarget),
    )
}

DEFAULT = Blend.name  # what a command or a session runs unless it is told


def make(name: str, **hyperparameters: Any) -> Method:
    """Return the method of that name, with its defaults but for what is given."""
    if name not in METHODS:
        raise BreathcastError(f"there is no method {name!r}", cure=f"use one of: {', '.join(METHODS)}")
    return METHODS[name]().replace(**hyperparameters)


def from_dict(values: dict[str, Any]) -> Method:
    """Return the method that `Method.to_dict` described."""
    rest = dict(values)
    return make(rest.pop("method"), **rest)
