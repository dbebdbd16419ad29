"""The simulation behind docs/scaling.md, against cases worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.sweep import Costs, Stage, limit, simulate

FREE = Costs(client=0.0, store=0.0, scheduler=0.0, worker=0.0, begin=0.0, recording=0.0)


def test_one_task_passes_every_station_once() -> None:
    stage = Stage(((10.0,),), recordings=1)
    paid = Costs(client=2.0, store=1.0, scheduler=4.0, worker=1.0, begin=3.0, recording=5.0)
    found = simulate(stage, 1, paid)
    assert found.seconds == 5 + 1 + 2 + 3 + 1 + 10 + 2 + 1 + 1  # recording, send, hand out, begin, ..., take in, write
    assert found.work == 10.0


def test_without_costs_workers_share_the_work() -> None:
    stage = Stage(((4.0, 2.0), (1.0, 1.0)), recordings=10)
    assert simulate(stage, 1, FREE).seconds == 80.0
    assert simulate(stage, 1, FREE).efficiency == 1.0
    assert simulate(stage, 4, FREE).seconds == pytest.approx(20.0, abs=4.0)


def test_the_client_holds_up_more_workers_than_the_limit_says() -> None:
    stage, paid = Stage(((6.0,),), recordings=300), replace(FREE, client=2.0, store=1.0)
    assert limit(6.0, paid) == (2.0, "client")
    found = simulate(stage, 50, paid)
    assert found.seconds == pytest.approx(300 * 3.0, rel=0.02)
    assert found.client == pytest.approx(1.0, rel=0.02)
    assert found.efficiency == pytest.approx(2 / 50, rel=0.02)


def test_the_scheduler_can_be_what_holds_up() -> None:
    stage, paid = Stage(((6.0,),), recordings=300), replace(FREE, scheduler=3.0)
    assert limit(6.0, paid) == (2.0, "scheduler")
    assert simulate(stage, 50, paid).seconds == pytest.approx(300 * 3.0, rel=0.02)
