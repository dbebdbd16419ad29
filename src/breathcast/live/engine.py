"""Many sessions at once, and everybody who listens to them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from breathcast.errors import BreathcastError
from breathcast.live import clock
from breathcast.live.core import Core
from breathcast.live.journal import Journal, journals
from breathcast.live.model import Output, Sample, Summary
from breathcast.live.session import Session
from breathcast.live.settings import SessionSettings
from breathcast.live.subscription import ROOM, Subscription

TICK_S = 0.02  # how often `tick` is to be called
_LOOK_S = 1.0  # s between looks at a journal's file
_TIDY_S = 10.0  # s between moves of a journal's log into its file


class UnknownSessionError(BreathcastError):
    """There is no session of that name."""


class TooManyError(BreathcastError):
    """A limit of the server is reached."""


@dataclass
class _Kept:
    """A session and what is done for it beside its samples' way."""

    session: Session
    saving: Future[None] | None = None
    saved: int = 0  # the sample at which the newest checkpoint was taken
    looked: float = 0.0
    tidied: float = 0.0


class Engine:
    """Sessions by name. One thread calls it, but for `create` and `resume`, which may take seconds in another."""

    def __init__(self, data: Path | None = None, *, max_sessions: int = 128) -> None:
        """`data`: the folder for journals, one folder a session; None keeps nothing."""
        self.data, self.max_sessions = data, max_sessions
        self._kept: dict[str, _Kept] = {}
        self._beginning: set[str] = set()
        self._lock = threading.Lock()  # of the two above
        self._subscriptions: list[Subscription] = []
        self._callbacks: list[Callable[[Output], None]] = []
        self._keeper = ThreadPoolExecutor(1, "breathcast-keeper")

    # --- sessions ---

    def create(self, settings: SessionSettings) -> Summary:
        """Begin a session."""

        def begin() -> Session:
            core = Core(settings)
            if self.data is None:
                return Session(core)
            journal = Journal.create(self.data / settings.name, settings, clock.now())
            return Session(core, journal, counts=journal.counts())

        return self._begin(settings.name, begin)

    def set_aside(self, name: str) -> None:
        """Before a resume, in the thread of all but it: end a session that has stopped, refuse one that runs."""
        if name not in self._kept:
            return
        if not self.session(name).stopped:
            raise BreathcastError(f"{name} is running", cure="nothing is to be resumed")
        self.end(name)

    def resume(self, name: str) -> Summary:
        """Go on with a session from its journal; one that is open is to be set aside first."""
        from breathcast.live.again import resume

        if self.data is None:
            raise BreathcastError("nothing is recorded here", cure="start the server with a folder for journals")
        folder = self.data / _safe(name)
        return self._begin(name, lambda: resume(folder))

    def _begin(self, name: str, begin: Callable[[], Session]) -> Summary:
        with self._lock:
            if name in self._kept or name in self._beginning:
                raise BreathcastError(f"there is a session {name!r} already", cure="give it another name, or end it")
            if len(self._kept) + len(self._beginning) >= self.max_sessions:
                cure = "end one first, or start the server with a higher --max-sessions"
                raise TooManyError(f"there are {self.max_sessions} sessions already", cure=cure)
            self._beginning.add(name)
        try:
            session = begin()
            with self._lock:
                self._kept[name] = _Kept(session, saved=session.samples)
            return session.summary()
        finally:
            with self._lock:
                self._beginning.discard(name)

    def end(self, name: str) -> None:
        """End a session; its journal stays."""
        kept = self._get(name)
        with self._lock:
            del self._kept[name]
        if kept.saving is not None:
            kept.saving.exception()
        kept.session.close()
        for subscription in [entry for entry in self._subscriptions if entry.session == name]:
            self.unsubscribe(subscription)

    def names(self) -> list[str]:
        """All sessions, in the order in which they began."""
        return list(self._kept)

    def session(self, name: str) -> Session:
        """One session, to be read."""
        return self._get(name).session

    def journals(self) -> list[str]:
        """The sessions that have a journal here, open or not."""
        return [] if self.data is None else [folder.name for folder in journals(self.data)]

    def _get(self, name: str) -> _Kept:
        kept = self._kept.get(name)
        if kept is None:
            there = ", ".join(list(self._kept)[:10]) or "none"
            raise UnknownSessionError(f"there is no session {name[:64]!r}", cure=f"begin it first; there are: {there}")
        return kept

    # --- what happens ---

    def push(self, name: str, sample: Sample) -> Output:
        """A sample of a session; its output, which all who listen get too."""
        kept = self._get(name)
        output = kept.session.push(sample)
        self._publish(output)
        if kept.session.samples - kept.saved >= kept.session.settings.checkpoint_samples:
            self._save(kept)
        return output

    def rearm(self, name: str, by: str) -> Output:
        """An operator re-arms a session."""
        output = self._get(name).session.rearm(by)
        self._publish(output)
        return output

    def tick(self) -> None:
        """Look at the time for all sessions: to be called every TICK_S."""
        now = time.monotonic()
        for kept in list(self._kept.values()):
            self._publish(kept.session.tick())
            if now - kept.looked >= _LOOK_S:
                kept.looked = now
                self._publish(kept.session.check_journal())
            if now - kept.tidied >= _TIDY_S and self._idle(kept):
                kept.tidied = now
                kept.saving = self._later(kept.session, lambda journal: journal.tidy())

    def _save(self, kept: _Kept) -> None:
        """Take a checkpoint; it is written in the keeper's thread, since that may take a while."""
        if kept.session.journal is None or kept.session.stopped or not self._idle(kept):
            return
        checkpoint = kept.session.checkpoint()
        kept.saved = checkpoint.sample
        kept.saving = self._later(kept.session, lambda journal: journal.save_checkpoint(checkpoint))

    @staticmethod
    def _idle(kept: _Kept) -> bool:
        return kept.saving is None or kept.saving.done()

    def _later(self, session: Session, work: Callable[[Journal], None]) -> Future[None] | None:
        # A failure here loses nothing: the samples are in the journal, and the next resume takes longer.
        return None if session.journal is None else self._keeper.submit(work, session.journal)

    # --- listening ---

    def subscribe(self, name: str | None = None, room: int = ROOM) -> Subscription:
        """Outputs of a session from now on, or of all."""
        if name is not None:
            self._get(name)
        subscription = Subscription(name, room)
        self._subscriptions.append(subscription)
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        """Stop listening."""
        subscription.close()
        if subscription in self._subscriptions:
            self._subscriptions.remove(subscription)

    def listen(self, callback: Callable[[Output], None]) -> None:
        """Call a function with every output; it must be quick, and what it raises is its own affair."""
        self._callbacks.append(callback)

    def _publish(self, output: Output | None) -> None:
        if output is None:
            return
        for subscription in self._subscriptions:
            if subscription.session in (None, output.session):
                subscription.put(output)
        for callback in self._callbacks:
            callback(output)

    def close(self) -> None:
        """End all sessions."""
        for name in self.names():
            self.end(name)
        for subscription in list(self._subscriptions):
            self.unsubscribe(subscription)
        self._keeper.shutdown()


def _safe(name: str) -> str:
    """The name of a session as a folder's: it leads nowhere else."""
    import re

    from breathcast.live.settings import NAME

    if not re.fullmatch(NAME, name):
        raise UnknownSessionError(f"there is no session {name[:64]!r}", cure="it has letters, digits, . _ or -")
    return name
