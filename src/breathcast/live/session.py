"""One session: samples in, outputs out, each of them in the journal before it leaves."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable

import numpy as np

from breathcast.errors import BreathcastError
from breathcast.forecasters.method import Array
from breathcast.live import clock, safety
from breathcast.live.core import Core, Taken
from breathcast.live.journal import REARM, Checkpoint, Journal, Step
from breathcast.live.model import HorizonForecast, Output, Positions, Sample, State, Summary, Transition, Verdict
from breathcast.live.safety import Cause, Finding, Safety

_RECENT_S = 30.0  # s of outputs that are kept for a page that is opened now
_MOST_RECENT = 3000
_TRANSITIONS = 1000


class Session:
    """Not safe for threads: one writer calls `push`, `tick` and `rearm`."""

    def __init__(
        self,
        core: Core,
        journal: Journal | None = None,
        *,
        start: Safety | None = None,
        counts: tuple[int, int, int] = (0, 0, 0),
        now: Callable[[], float] = clock.now,
    ) -> None:
        """`counts` as `Journal.counts` gives them, `start` from the journal too, where a session is resumed."""
        self.core, self.journal, self._now = core, journal, now
        self.settings = core.settings
        self.safety = start or Safety()
        self.samples, self._sequence, self._event = counts
        self.recent: deque[Output] = deque(maxlen=min(_MOST_RECENT, round(_RECENT_S * self.settings.rate)))
        self.transitions: deque[Transition] = deque(maxlen=_TRANSITIONS)
        self.refused = 0
        self._standing: tuple[Finding, ...] = ()  # what was found with the newest sample taken
        self._since = now()

    @property
    def name(self) -> str:
        """The name."""
        return self.settings.name

    @property
    def stopped(self) -> bool:
        """Whether no sample can be taken before the session is resumed."""
        return self.safety.needs_resume or self.safety.state is State.FAULT

    # --- what happens to a session ---

    def push(self, sample: Sample) -> Output:
        """Take in a sample; the output has forecasts if the state allows, and is in the journal."""
        if self.stopped:
            self.refused += 1
            return self._output(sample.time_arrival, None, Verdict.REFUSED)
        sample, found = self._fitting(sample)
        catching_up = self.safety.cause in (Cause.NO_SAMPLE, Cause.LEARNING)  # a method learns its first part at once
        try:
            taken = self.core.take(sample)
        except Exception as error:  # a method's fault must not take the server with it
            return self._broken(sample, error)
        self.samples += 1
        if taken.verdict is Verdict.TAKEN:
            self._standing = taken.findings
            found = (*found, *taken.findings)
        else:
            found = (*found, *self._standing, *taken.findings)
        transition = self._step(found)
        self._sequence += 1
        self._write(sample, taken, transition)
        if taken.verdict is Verdict.TAKEN and not catching_up:
            self._judge_latency(sample)
        return self._output(sample.time_arrival, taken, taken.verdict)

    def tick(self) -> Output | None:
        """Look at the clock; an output if that changed the state. To be called a few times in `stale_ms`."""
        now = self._now()
        silent = (now - self.core.timeline.last_arrival) * 1000
        if self.stopped or math.isnan(silent):
            return None
        found: tuple[Finding, ...] = self._standing
        if silent > self.settings.limits.stale_ms:
            found = (*found, Finding(Cause.STALE, f"no sample for {self.settings.limits.stale_ms:g} ms"))
        elif self.safety.held is None or self.settings.limits.latch:
            return None
        return self._announce(self._step(found))

    def check_journal(self) -> Output | None:
        """See that the journal is still where it was; an output if it is not."""
        if self.journal is None or self.stopped:
            return None
        try:
            self.journal.check()
        except BreathcastError as error:
            return self._announce(self._step((Finding(Cause.JOURNAL, _one_line(error)),)))
        return None

    def rearm(self, by: str) -> Output:
        """The operator has looked: a latched HOLD ends, unless what caused it is still there."""
        if self.stopped:
            cure = "mend what the detail says, then resume the session"
            raise BreathcastError(f"{self.name} cannot be re-armed: {self.safety.detail}", cure=cure)
        before, now = self.safety, self._now()
        self.safety = safety.rearm(before)
        self.core.rearm()
        self._standing = (Finding(Cause.REARMED, self.safety.detail),) if before.held else self._standing
        transition = self._noted(before)
        self._sequence += 1
        if self.journal is not None:
            try:
                self._event = self.journal.record(
                    self.samples, self._sequence, now, transition=transition, kind=REARM, by=by
                )
            except BreathcastError as error:
                self._fail(error)
        return self._output(now, None, None)

    # --- state ---

    def _step(self, findings: Iterable[Finding]) -> Transition | None:
        """Go to the next state; the transition, if it is another one or has another cause."""
        before, limits = self.safety, self.settings.limits
        self.safety = safety.step(before, findings, self._now(), latch=limits.latch, recover_s=limits.recover_ms / 1000)
        return self._noted(before)

    def _noted(self, before: Safety) -> Transition | None:
        after = self.safety
        if (before.state, before.cause) == (after.state, after.cause):
            return None
        self._since = self._now()
        transition = Transition(self._since, before.state, after.state, after.cause, after.detail)
        self.transitions.append(transition)
        return transition

    def _announce(self, transition: Transition | None) -> Output | None:
        """Record and tell a change of state that no sample brought."""
        if transition is None:
            return None
        self._sequence += 1
        self._record(transition)
        return self._output(transition.time, None, None)

    def _record(self, transition: Transition | None) -> None:
        if transition is None or self.journal is None:
            return
        try:
            self._event = self.journal.record(self.samples, self._sequence, transition.time, transition=transition)
        except BreathcastError as error:
            self._fail(error)

    def _write(self, sample: Sample, taken: Taken, transition: Transition | None) -> None:
        if self.journal is None:
            return
        state, cause = self.safety.state, self.safety.cause
        step = Step(self.samples, sample, self._sequence, taken.verdict, taken.forecasts, state, cause)
        try:
            self.journal.write(step, transition)
        except BreathcastError as error:
            self._fail(error)

    def _fail(self, error: BreathcastError) -> None:
        """The journal failed: what is not recorded does not leave."""
        self._step((Finding(Cause.JOURNAL, _one_line(error)),))

    def _broken(self, sample: Sample, error: Exception) -> Output:
        told = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        transition = self._step((Finding(Cause.BROKEN, f"the method failed ({told})"),))
        self._sequence += 1
        self._record(transition)
        return self._output(sample.time_arrival, None, Verdict.REFUSED)

    def _judge_latency(self, sample: Sample) -> None:
        """A forecast that comes too late is withheld; the journal knows of that before anybody else."""
        late, limit = (self._now() - sample.time_arrival) * 1000, self.settings.limits.deadline_ms
        if self.safety.speaks and late > limit:
            detail = f"the forecast took {late:.0f} ms, more than {limit:g} ms"
            self._record(self._step((Finding(Cause.DEADLINE, detail),)))

    def _fitting(self, sample: Sample) -> tuple[Sample, tuple[Finding, ...]]:
        """The sample with an array of the right shape; of another shape, all its markers count as missing."""
        positions = np.asarray(sample.positions, dtype=np.float64)
        found: tuple[Finding, ...] = ()
        if positions.shape != self.settings.shape:
            found = (Finding(Cause.SHAPE, f"a sample of shape {positions.shape}, not {self.settings.shape}"),)
            positions = np.full(self.settings.shape, np.nan)
        return Sample(positions, sample.time_arrival, sample.time_device, sample.source), found

    # --- telling ---

    def _output(self, arrival: float, taken: Taken | None, verdict: Verdict | None) -> Output:
        forecasts = taken.forecasts if taken is not None and self.safety.speaks else None
        output = Output(
            session=self.name,
            sequence=self._sequence,
            sample=None if verdict in (None, Verdict.REFUSED) else self.samples,
            verdict=verdict,
            time=self.core.timeline.last,
            time_arrival=arrival,
            state=self.safety.state,
            cause=str(self.safety.cause),
            detail=self.safety.detail,
            position=_listed(self.core.position),
            forecasts=self._horizons(forecasts),
            latency_ms=max(0.0, (self._now() - arrival) * 1000),
            counters=self._counters(),
            clock=self.core.timeline.report(),
        )
        self.recent.append(output)
        return output

    def _counters(self) -> dict[str, int]:
        said = {"received": self.samples + self.refused} | self.core.counts
        return said | {Verdict.REFUSED.value: self.refused}

    def _horizons(self, forecasts: Array | None) -> list[HorizonForecast]:
        score, rate = self.core.score, self.settings.rate
        return [
            HorizonForecast(
                asked,
                steps * 1000 / rate,
                steps,
                None if forecasts is None else _whole(forecasts[k]),
                _number(score.radius[k]),
                _number(score.rmse[k]),
                _number(score.no_prediction[k]),
            )
            for k, (asked, steps) in enumerate(zip(self.settings.horizons_ms, self.core.steps, strict=True))
        ]

    def summary(self) -> Summary:
        """The session at a glance."""
        held = self.safety.held is not None
        return Summary(
            name=self.name,
            state=self.safety.state,
            cause=str(self.safety.cause),
            detail=self.safety.detail,
            since=self._since,
            latched=held and (self.settings.limits.latch or self.stopped),
            source=self.core.source,
            settings=self.settings.to_dict(),
            horizons=[
                {"asked_ms": asked, "used_ms": steps * 1000 / self.settings.rate, "steps": steps}
                for asked, steps in zip(self.settings.horizons_ms, self.core.steps, strict=True)
            ],
            counters=self._counters(),
            clock=self.core.timeline.report(),
            sequence=self._sequence,
            journal=None if self.journal is None else str(self.journal.file),
        )

    def checkpoint(self) -> Checkpoint:
        """Where the session is now."""
        return Checkpoint(self.samples, self._event, self.core.state())

    def close(self) -> None:
        """Leave a checkpoint, if the journal still agrees with the learner, and let go of the journal."""
        if self.journal is None:
            return
        try:
            if not self.stopped:
                self.journal.save_checkpoint(self.checkpoint())
                self.journal.tidy()
        except BreathcastError:
            pass  # without a checkpoint a resume takes longer; nothing is lost
        finally:
            self.journal.close()


def _listed(positions: Array) -> Positions:
    """Lists, with None for NaN."""
    rows: Positions = positions.tolist()
    if np.isnan(positions).any():
        return [[None if math.isnan(value or 0.0) else value for value in row] for row in rows]
    return rows


def _whole(positions: Array) -> Positions | None:
    """Lists; None unless every number is finite."""
    rows: Positions = positions.tolist()
    return rows if np.isfinite(positions).all() else None


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
