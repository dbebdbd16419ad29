"""How a person breathes, breath by breath: strokes that carry the chest wall from one level to the next.

A level is a number without unit: 0 where the person usually ends an exhalation, 1 where an inhalation usually ends.
Rib cage and abdomen have a level each, because the chest wall moves with two degrees of freedom (Konno & Mead 1967).
Every draw is made per breath and every duration is in seconds, so that the signal knows nothing of a sampling rate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

ONSET = 0.7  # exponent n of an inhalation: it sets in at once, as in the real recordings
SLOW = 0.3  # share of the variance over breaths that changes slowly
MEMORY = 0.95  # its correlation from one breath to the next; that of the whole is 0.3, as in Tobin et al. (1995)


class Stroke(NamedTuple):
    """One movement of the chest wall, starting where the last one ended, at rest at both ends."""

    seconds: float
    abdomen: float
    chest: float
    dwell: float = 1.0
    """Exponent n of Lujan et al. (1999): the larger, the longer the wall stays near its lower level."""


class Trace:
    """Levels in continuous time, made of strokes; they and their velocity are continuous (if every n exceeds 1/2)."""

    def __init__(self, strokes: Iterable[Stroke], start: float, end: float) -> None:
        """Take as many strokes as the time from `start` to `end` (s) needs; before it the level is 0, 0."""
        table, now = [], start
        for stroke in strokes:
            table.append(stroke)
            now += stroke.seconds
            if now > end:
                break
        columns = np.array(table)
        self.times: NDArray[np.float64] = start + np.concatenate([[0.0], np.cumsum(columns[:, 0])])
        self.levels: NDArray[np.float64] = np.vstack([np.zeros(2), columns[:, 1:3]])
        self.dwell: NDArray[np.float64] = columns[:, 3]

    def at(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        """Levels of abdomen and chest at these times (s), shape (time, 2).

        Lujan et al. (1999), one half-cycle at a time: low + (high - low) cos^2n, which rests near the low level.
        """
        i = np.clip(np.searchsorted(self.times, times, side="right") - 1, 0, len(self.dwell) - 1)
        done = np.clip((times - self.times[i]) / np.diff(self.times)[i], 0.0, 1.0)[:, None]
        first, last = self.levels[i], self.levels[i + 1]
        height = np.sin(0.5 * np.pi * np.where(last > first, done, 1.0 - done)) ** (2.0 * self.dwell[i][:, None])
        return np.asarray(np.minimum(first, last) + np.abs(last - first) * height)


@dataclass(frozen=True)
class Breather:
    """What stays the same about one person's breathing."""

    period: float  # s, median
    inhale: float  # share of a breath
    exhale: float  # share of a breath; the rest is a pause
    dwell: float  # exponent n of the exhalation


class Rest(NamedTuple):
    """How much quiet breaths differ; the defaults lie among the calm ones of the real recordings.

    Tobin et al. (1988) measured coefficients of variation of 21 % in frequency and 33 % in volume over healthy
    people at rest: the calm pattern varies less than that, the irregular one about as much.
    """

    period_cv: float = 0.14
    depth_cv: float = 0.17
    level_sd: float = 0.03
    chest_cv: float = 0.12


def quiet_breaths(rng: np.random.Generator, person: Breather, rest: Rest) -> Iterator[list[Stroke]]:
    """Inhale, exhale and pause, for ever, with log-normal periods and depths.

    Their logarithms are white noise plus an AR(1) process over the breaths, which is an ARMA(1,1) process: the kind
    that Busso et al. (1996) found in healthy people. The pause takes what inhalation and exhalation leave of the
    period, so that its length is what nobody foresees.
    """
    spread = np.array([rest.period_cv, rest.depth_cv, rest.chest_cv, rest.level_sd])
    slow = rng.standard_normal(4)
    while True:
        state = np.sqrt(SLOW) * slow + np.sqrt(1.0 - SLOW) * rng.standard_normal(4)
        period, top, chest = np.exp(spread[:3] * np.clip(state[:3], -2.5, 2.5))
        bottom = spread[3] * state[3]
        inhale, exhale = person.period * np.exp(0.15 * rng.standard_normal(2)) * (person.inhale, person.exhale)
        pause = max(0.1, person.period * period - inhale - exhale)
        yield [
            Stroke(inhale, top, top * chest, ONSET),
            Stroke(exhale, bottom, bottom, person.dwell * np.exp(0.25 * rng.standard_normal())),
            Stroke(pause, bottom, bottom),
        ]
        slow = MEMORY * slow + np.sqrt(1.0 - MEMORY**2) * rng.standard_normal(4)


def sigh(rng: np.random.Generator) -> list[Stroke]:
    """One breath of about twice the depth, and a pause after it."""
    top = rng.uniform(1.6, 2.3)
    return [
        Stroke(rng.uniform(1.8, 2.6), top, top * rng.uniform(1.0, 1.8), 1.1),
        Stroke(rng.uniform(2.5, 4.0), 0.0, 0.0, 2.0),
        Stroke(rng.uniform(0.5, 3.0), 0.0, 0.0),
    ]


def deep_breath(rng: np.random.Generator) -> list[Stroke]:
    """A slow breath on purpose: the rib cage does most of it, and the abdomen is back long before the rib cage."""
    top, chest = rng.uniform(1.5, 2.1), rng.uniform(4.5, 7.0)
    return [
        Stroke(rng.uniform(6.0, 9.0), top, chest),
        Stroke(rng.uniform(3.0, 5.0), 0.4 * top, 0.8 * chest),
        Stroke(rng.uniform(6.0, 9.0), 0.0, -0.25 * chest),
    ]


def talk(rng: np.random.Generator) -> list[Stroke]:
    """Speech: a quick inhalation, then a long exhalation phrase by phrase (Conrad & Schönle 1979)."""
    phrases = int(rng.integers(3, 8))
    top, below, chest = rng.uniform(0.6, 1.2), rng.uniform(0.0, 0.4), rng.uniform(1.0, 4.0)
    levels = top - (top + below) * np.cumsum(rng.dirichlet(np.ones(phrases)))
    seconds = rng.uniform(0.4, 1.4, phrases)
    spoken = [Stroke(s, level, chest * level) for s, level in zip(seconds, levels, strict=True)]
    return [Stroke(rng.uniform(0.5, 0.9), top, chest * top), *spoken]


def laugh(rng: np.random.Generator) -> list[Stroke]:
    """A fit of laughter: expiratory jerks at 4.6 ± 1.1 Hz down to far below rest (Filippelli et al. 2001)."""
    frequency = np.clip(rng.normal(4.6, 1.1), 3.0, 6.0)
    jerks = int(frequency * rng.uniform(1.0, 3.5))
    top, floor, chest = rng.uniform(0.5, 1.2), -rng.uniform(0.3, 0.9), rng.uniform(1.0, 3.5)
    strokes = [Stroke(rng.uniform(0.4, 0.8), top, chest * top)]
    for middle, swing in zip(np.linspace(top, floor, jerks + 1)[1:], rng.uniform(0.03, 0.12, jerks), strict=True):
        strokes += [Stroke(0.5 / frequency, level, chest * level) for level in (middle - swing, middle)]
    return [*strokes, Stroke(rng.uniform(0.8, 2.0), 0.0, rng.uniform(-1.0, 1.0))]


def cough(rng: np.random.Generator) -> list[Stroke]:
    """A gasp, then one to four sharp expulsions with a rebound each (phases after McCool 2006)."""
    level, chest = rng.uniform(0.5, 1.2), rng.uniform(1.0, 2.5)
    strokes = [Stroke(rng.uniform(0.5, 0.9), level, chest * level)]
    for _ in range(int(rng.integers(1, 5))):
        low = level - rng.uniform(0.4, 0.9)
        level = low + rng.uniform(0.2, 0.6)
        strokes += [
            Stroke(rng.uniform(0.15, 0.25), low, chest * low),
            Stroke(rng.uniform(0.2, 0.35), level, chest * level),
        ]
    return [*strokes, Stroke(rng.uniform(0.8, 1.5), 0.0, 0.0)]


def hold(rng: np.random.Generator) -> list[Stroke]:
    """No breathing for 8 to 20 s, after an exhalation or (three in ten) an inhalation; then a deep breath."""
    seconds, recovery = rng.uniform(8.0, 20.0), rng.uniform(1.3, 1.9)
    held = [Stroke(seconds, 0.0, 0.0)]
    if rng.random() < 0.3:
        held = [Stroke(1.6, 1.2, 1.2, 1.1), Stroke(seconds, 1.1, 1.1), Stroke(2.0, 0.0, 0.0, 1.5)]
    return [*held, Stroke(1.6, recovery, recovery, 1.1), Stroke(2.5, 0.0, 0.0, 2.0)]


class Behaviour(NamedTuple):
    """One pattern: quiet breaths, and what interrupts them how often."""

    description: str
    rest: Rest = Rest()
    event: Callable[[np.random.Generator], list[Stroke]] | None = None
    between: tuple[int, int] = (0, 0)
    """The fewest and the most quiet breaths between two events."""


BEHAVIOURS = {
    "regular": Behaviour("calm breathing at rest; period and depth wander a little"),
    "irregular": Behaviour(
        "period and depth vary much from breath to breath, with a sigh now and then",
        rest=Rest(0.20, 0.30, 0.08, 0.20),
        event=sigh,
        between=(5, 12),
    ),
    "deep": Behaviour("slow deep breaths on purpose, rib cage and abdomen out of step", event=deep_breath),
    "talking": Behaviour("quick inhalations and long exhalations in phrases", event=talk, between=(0, 3)),
    "laughing": Behaviour("fits of laughter between quiet breaths", event=laugh, between=(0, 3)),
    "coughing": Behaviour("a cough or several every few breaths", event=cough, between=(3, 7)),
    "apnoea": Behaviour("breathing stops for 8 to 20 s, then a deep breath", event=hold, between=(4, 8)),
    "shift": Behaviour("calm breathing; the body moves to another place within a second, every half minute or so"),
    "drift": Behaviour("calm breathing; the body settles, first by 1.5 to 4 mm a minute, then slower"),
}


def breathe(rng: np.random.Generator, person: Breather, behaviour: Behaviour) -> Iterator[Stroke]:
    """All strokes of one person, without end: quiet breaths, and events between them."""
    quiet = quiet_breaths(rng, person, behaviour.rest)
    if behaviour.event is None:
        yield from chain.from_iterable(quiet)
        return
    fewest, most = behaviour.between
    while True:
        for _ in range(int(rng.integers(fewest, most + 1))):
            yield from next(quiet)
        yield from behaviour.event(rng)


def change_posture(rng: np.random.Generator) -> Iterator[Stroke]:
    """Lie still for 20 to 45 s, then move within about a second to the other side of the middle; for ever."""
    side, level = 1.0, 0.0
    while True:
        yield Stroke(rng.uniform(20.0, 45.0), level, level)
        side, level = -side, side * rng.uniform(0.4, 1.2)
        yield Stroke(rng.uniform(0.5, 1.5), level, level)
