"""The tasks of a study: each is named by a hash of everything that decides its result."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from breathcast.forecasters.method import Feedback, Form, Method
from breathcast.recordings.recording import Recording
from breathcast.studies.spec import Entry, Search, Spec

LAYOUT = 1  # of the stored results; raise it when what a task stores, or how a score is computed, changes
_HORIZONS = 10  # in one selection task: long enough to share draws and Gram matrices, short enough to lose few minutes
_SHARED = ("hidden", "history")  # candidates with the same of these share them

Stage = Literal["screening", "selection", "test"]
Cell = tuple[str, str, float]  # title, recording, horizon
Chosen = Mapping[Cell, Method]
Survivors = Mapping[Cell, Sequence[Method]]


@dataclass(frozen=True)
class Task:
    """Some settings of one method on one recording at some horizons, all runs."""

    stage: Stage
    title: str
    methods: tuple[Method, ...]
    recording: str
    data: str  # hash of the recording
    horizons: tuple[float, ...]
    feedback: Feedback
    form: Form
    runs: int
    seed: int
    start: float  # s, the part that is scored
    end: float | None
    search: Search | None = None
    score: str = "rmse"  # what is selected by
    traces: bool = False

    @property
    def key(self) -> str:
        """The name of its result."""
        told: dict[str, Any] = {
            "layout": LAYOUT,
            "stage": self.stage,
            "title": self.title,
            "methods": [{"revision": method.revision, **method.to_dict()} for method in self.methods],
            "recording": [self.recording, self.data],
            "horizons": self.horizons,
            "feedback": self.feedback,
            "form": self.form,
            "runs": self.runs,
            "seed": self.seed,
            "part": [self.start, self.end],
            "search": None if self.search is None else self.search.model_dump(),
            "score": None if self.stage == "test" else self.score,
            "traces": self.traces,
        }
        text = json.dumps(told, sort_keys=True, separators=(",", ":"))
        return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()


@dataclass(frozen=True)
class Source:
    """A recording as tasks name it."""

    name: str
    data: str  # hash of its positions and rate

    @classmethod
    def of(cls, recording: Recording) -> Source:
        """The name and the hash of a recording."""
        return cls(recording.name, fingerprint(recording))


def fingerprint(recording: Recording) -> str:
    """A hash of the positions and the rate."""
    digest = hashlib.blake2b(digest_size=12)
    digest.update(json.dumps([recording.rate, recording.positions.shape]).encode())
    digest.update(recording.positions.tobytes())
    return digest.hexdigest()


def screening_tasks(spec: Spec, sources: Sequence[Source]) -> Iterator[Task]:
    """A few runs of every setting of the random methods, if the study screens."""
    for entry in spec.method:
        if spec.screens(entry):
            yield from _grid_tasks(spec, entry, "screening", sources)


def selection_tasks(spec: Spec, sources: Sequence[Source], survivors: Survivors | None = None) -> Iterator[Task]:
    """What must be known to choose the hyper-parameters of every method, recording and horizon.

    Of a method that is screened, only the survivors; where they are not known yet there is no task.
    """
    for entry in spec.method:
        if entry.search:
            for source in sources:
                for horizon in spec.ahead:
                    yield _task(spec, entry, "selection", source, (entry.base(),), (horizon,))
        elif spec.screens(entry):
            for source in sources:
                for horizon in spec.ahead:
                    if methods := (survivors or {}).get((entry.title, source.name, horizon)):
                        yield _task(spec, entry, "selection", source, _by_size(methods), (horizon,))
        elif entry.selects:
            yield from _grid_tasks(spec, entry, "selection", sources)


def _grid_tasks(spec: Spec, entry: Entry, stage: Stage, sources: Sequence[Source]) -> Iterator[Task]:
    """Every point of the grid, in tasks that share as much as they can."""
    blocks = _blocks(entry.candidates())
    for source in sources:
        for block in blocks:
            for first in range(0, len(spec.ahead), _HORIZONS):
                yield _task(spec, entry, stage, source, block, spec.ahead[first : first + _HORIZONS])


def test_tasks(spec: Spec, sources: Sequence[Source], chosen: Chosen) -> Iterator[Task]:
    """The test part, with what was chosen; where nothing could be chosen there is no task."""
    for entry in spec.method:
        for source in sources:
            for horizon in spec.ahead:
                method = chosen.get((entry.title, source.name, horizon)) if entry.selects else entry.candidates()[0]
                if method is not None:
                    yield _task(spec, entry, "test", source, (method,), (horizon,))


test_tasks.__test__ = False  # type: ignore[attr-defined] # its name is no sign for pytest


def _task(
    spec: Spec,
    entry: Entry,
    stage: Stage,
    source: Source,
    methods: tuple[Method, ...],
    horizons: tuple[float, ...],
) -> Task:
    selecting = stage != "test"
    runs = {"screening": spec.screening_runs or 0, "selection": spec.selection_runs, "test": spec.test_runs}
    return Task(
        stage=stage,
        title=entry.title,
        methods=methods,
        recording=source.name,
        data=source.data,
        horizons=horizons,
        feedback=spec.feedback,
        form=spec.form,
        runs=runs[stage],
        seed=spec.seed,
        start=entry.validation[0] if selecting else spec.test_start,
        end=entry.validation[1] if selecting else None,
        search=entry.search if selecting else None,
        score=spec.select,
        traces=spec.traces and not selecting,
    )


def _blocks(candidates: Sequence[Method]) -> list[tuple[Method, ...]]:
    """Candidates that have the size of the network and the window in common, together; the largest first."""
    blocks: dict[tuple[Any, ...], list[Method]] = {}
    for method in candidates:
        blocks.setdefault(_size(method), []).append(method)
    if len(blocks) > len(candidates) // 2 and not hasattr(candidates[0], "hidden"):
        return [tuple(candidates)]  # cheap methods: all in one
    return [tuple(blocks[key]) for key in sorted(blocks, reverse=True)]


def _by_size(candidates: Sequence[Method]) -> tuple[Method, ...]:
    return tuple(sorted(candidates, key=_size, reverse=True))


def _size(method: Method) -> tuple[Any, ...]:
    return tuple(getattr(method, key, 0) for key in _SHARED)
