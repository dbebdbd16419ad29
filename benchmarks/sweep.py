"""A simulation of a study on many workers: where more of them stop helping, and what stands in the way.

Three kinds of servers, each of which does one thing at a time, first come first served:

    client      sends a task, takes in its result and writes it; two tasks a worker are under way at most
    scheduler   has work with every task twice: to hand it out, and when it is done
    workers     take the next task as soon as they are free; the first one on each waits for kernels to be loaded

Distances cost nothing but the bytes of the recordings on the
client's line. All costs are arguments; benchmarks.scheduling measures them.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count


@dataclass(frozen=True)
class Costs:
    """Seconds, each of one processor."""

    client: float  # a task: half of it to send it, half to take in its result
    store: float  # client, to write the result
    scheduler: float  # both times together, a task
    worker: float  # a task, beside the work itself
    begin: float  # a worker's first task: kernels and libraries
    recording: float  # a recording on the client's line


@dataclass(frozen=True)
class Found:
    """What a simulated stage took."""

    seconds: float
    work: float  # processor seconds of the tasks themselves
    workers: int
    client: float  # share of the time in which it was busy
    scheduler: float

    @property
    def efficiency(self) -> float:
        """Share of the workers' time that went into tasks."""
        return self.work / (self.seconds * self.workers)


@dataclass(frozen=True)
class Stage:
    """Tasks in the order in which they are sent: blocks of one method, recording after recording."""

    blocks: tuple[tuple[float, ...], ...]  # for each method: the durations of the tasks of one recording
    recordings: int

    def tasks(self) -> Iterator[tuple[float, bool]]:
        """The duration of each, and whether its recording must be sent first."""
        for block in self.blocks:
            for _ in range(self.recordings):
                for n, duration in enumerate(block):
                    yield duration, n == 0


_SENT, _READY, _DONE, _LANDED = range(4)


def simulate(stage: Stage, workers: int, costs: Costs, ahead: int = 2) -> Found:
    """Run a stage from its beginning to its end."""
    tasks, order = stage.tasks(), count()
    events: list[tuple[float, int, int, float]] = []  # when, in what order, what, duration
    client = scheduler = 0.0  # when each is free
    work = busy_client = busy_scheduler = 0.0
    idle = fresh = workers
    ready: deque[float] = deque()
    end = 0.0

    def later(when: float, what: int, duration: float) -> None:
        heapq.heappush(events, (when, next(order), what, duration))

    def send(now: float) -> None:
        nonlocal client, busy_client
        task = next(tasks, None)
        if task is None:
            return
        cost = costs.client / 2 + (costs.recording if task[1] else 0.0)
        client, busy_client = max(now, client) + cost, busy_client + cost
        later(client, _SENT, task[0])

    def serve(now: float, what: int, duration: float) -> None:
        nonlocal scheduler, busy_scheduler
        scheduler, busy_scheduler = max(now, scheduler) + costs.scheduler / 2, busy_scheduler + costs.scheduler / 2
        later(scheduler, what, duration)

    def begin(now: float) -> None:
        nonlocal idle, fresh, work
        while idle and ready:
            duration = ready.popleft()
            idle, work = idle - 1, work + duration
            extra = costs.worker
            if fresh:
                fresh, extra = fresh - 1, extra + costs.begin
            later(now + duration + extra, _DONE, duration)

    for _ in range(ahead * workers):
        send(0.0)
    while events:
        now, _, what, duration = heapq.heappop(events)
        if what == _SENT:
            serve(now, _READY, duration)
        elif what == _READY:
            ready.append(duration)
            begin(now)
        elif what == _DONE:
            idle += 1
            begin(now)
            serve(now, _LANDED, duration)
        else:
            cost = costs.client / 2 + costs.store
            client, busy_client = max(now, client) + cost, busy_client + cost
            end = client
            send(now)
    return Found(end, work, workers, busy_client / end, busy_scheduler / end)


def limit(seconds: float, costs: Costs) -> tuple[float, str]:
    """How many workers tasks of this length can keep busy at most, and who says so."""
    rates = {"client": costs.client + costs.store, "scheduler": costs.scheduler}
    slowest = max(rates, key=lambda name: rates[name])
    return (seconds + costs.worker) / rates[slowest], slowest
