"""The API does what its own OpenAPI page says, whatever is sent."""

from __future__ import annotations

import pytest
import schemathesis
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from schemathesis.specs.openapi.checks import positive_data_acceptance

from breathcast.live.access import Access
from breathcast.live.api import make_app
from breathcast.live.engine import Engine
from breathcast.live.guarding import REQUESTS_PER_S
from tests.live.feeding import settings

ENGINE = Engine(max_sessions=3)
ENGINE.create(settings("one"))
APP = make_app(ENGINE, Access(any_host=True), list)
schema = schemathesis.openapi.from_asgi("/openapi.json", APP)


@pytest.mark.filterwarnings("default")
@schema.parametrize()
@hypothesis_settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
def test_the_api_keeps_its_word(case: schemathesis.Case) -> None:
    # A body can be of the right form and still be refused: a horizon below one sample, an unknown method.
    case.call_and_validate(excluded_checks=[positive_data_acceptance])
    if "one" not in ENGINE.names():  # which somebody may have ended
        ENGINE.create(settings("one"))


def test_there_is_something_to_try() -> None:
    assert len(list(schema.get_all_operations())) >= 11
    assert REQUESTS_PER_S > 100
