"""The conformance suite that every forecasting method passes, for those of breathcast and for yours."""

from breathcast.checks.conformance import CHECKS, check_method, compiled_signatures

__all__ = ["CHECKS", "check_method", "compiled_signatures"]
