"""A session again, from its journal: to go on with it, and to verify what it said."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from breathcast.errors import BreathcastError
from breathcast.live import clock, safety
from breathcast.live.core import Core, Taken
from breathcast.live.journal import REARM, RESUME, TRANSITION, Event, Journal, Step, packed
from breathcast.live.model import State, Transition
from breathcast.live.safety import Cause, Finding, Safety
from breathcast.live.session import Session
from breathcast.version import __version__


@dataclass(frozen=True, slots=True)
class Verification:
    """What a second computation of a whole journal found."""

    session: str
    samples: int
    forecasts: int  # compared, each of all horizons
    different: int
    first_difference: int | None  # number of the sample
    written_by: str  # version of breathcast
    remarks: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether every bit is the same, and nothing is missing."""
        return self.different == 0 and not self.remarks


def resume(folder: Path) -> Session:
    """The session of a journal, with the learner as it was after the last sample that was recorded."""
    journal = Journal.open(folder, write=True)
    try:
        core, before = _rebuild(journal), _last_state(journal)
        start = safety.resumed(before)
        samples, sequence, _ = journal.counts()
        change = Transition(clock.now(), before.state, start.state, start.cause, start.detail)
        journal.record(
            samples, sequence, change.time, transition=None if start.state is before.state else change, kind=RESUME
        )
        core.release()
        session = Session(core, journal, start=start, counts=journal.counts())
        session.transitions.extend(transitions(journal))
        return session
    except BaseException:
        journal.close()
        raise


def _rebuild(journal: Journal) -> Core:
    """A core as it was: the checkpoint and the samples since; without a usable checkpoint, all samples."""
    core = Core(journal.settings())
    after, event = 0, 0
    found = journal.checkpoint()
    if found is not None and found.sample <= journal.counts()[0]:
        try:
            core.restore(found.state)
            after, event = found.sample, found.event
        except (BreathcastError, KeyError, ValueError):
            core = Core(journal.settings())  # a half-restored one is worth nothing
    for _ in _again(core, journal, after, event):
        pass
    return core


def _again(core: Core, journal: Journal, after: int = 0, event: int = 0) -> Iterator[tuple[Step, Taken]]:
    """Do all that the session did after a sample and an event."""
    events = deque(entry for entry in journal.events(event) if entry.kind in (REARM, RESUME))
    for step in journal.steps(after):
        while events and events[0].after_sample < step.n:
            _happen(core, events.popleft())
        yield step, core.take(step.sample)
    for entry in events:
        _happen(core, entry)


def _happen(core: Core, event: Event) -> None:
    if event.kind == REARM:
        core.rearm()
    else:
        core.release()


def _last_state(journal: Journal) -> Safety:
    """The state after the last change that is recorded."""
    changes = journal.events(kind=TRANSITION)
    if not changes:
        return Safety()
    last = changes[-1].data
    state = State(last["after"])
    held = Finding(Cause(last["cause"]), last["detail"]) if state in (State.HOLD, State.FAULT) else None
    return Safety(state, last["cause"], last["detail"], held)


def transitions(journal: Journal) -> list[Transition]:
    """All changes of state that are recorded."""
    return [
        Transition(
            event.time,
            State(event.data["before"]),
            State(event.data["after"]),
            event.data["cause"],
            event.data["detail"],
        )
        for event in journal.events(kind=TRANSITION)
    ]


def verify(folder: Path, progress: Callable[[int, int, str], None] = lambda done, total, what: None) -> Verification:
    """Compute every forecast of a journal again, from its samples alone, and compare them bit for bit."""
    journal = Journal.open(folder)
    try:
        return _verify(journal, progress)
    finally:
        journal.close()


def _verify(journal: Journal, progress: Callable[[int, int, str], None]) -> Verification:
    settings, total = journal.settings(), journal.counts()[0]
    compared = different = last = 0
    first: int | None = None
    remarks = list(journal.damage())
    for step, taken in _again(Core(settings), journal):
        if step.n != last + 1:
            remarks.append(f"samples {last + 1} to {step.n - 1} are missing")
        last = step.n
        compared += step.forecasts is not None
        if not _same(step, taken):
            different += 1
            first = step.n if first is None else first
        if step.n % 1000 == 0:
            progress(step.n, total, settings.name)
    if last != total:
        remarks.append(f"samples {last + 1} to {total} have no forecast")
    return Verification(
        settings.name, total, compared, different, first, journal.about().get("breathcast", __version__), tuple(remarks)
    )


def _same(step: Step, taken: Taken) -> bool:
    if step.forecasts is None or taken.forecasts is None:
        return step.verdict is taken.verdict and step.forecasts is taken.forecasts
    return step.verdict is taken.verdict and packed(step.forecasts) == packed(taken.forecasts)
