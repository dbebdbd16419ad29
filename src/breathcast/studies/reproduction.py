"""Published numbers beside ours: differences, whether chance explains them, and the published claims by horizon."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal

import polars as pl
from pydantic import BaseModel

from breathcast.evaluation.scores import SCORES
from breathcast.studies import statistics
from breathcast.studies.run import Results
from breathcast.studies.spec_file import published_names, published_spec

NEAR = 0.03  # relative: how close our number must be to a published one that is read off the text
_PROTOCOL = ("selection_runs", "test_runs", "test_start", "horizons", "feedback", "select", "seed")


class Claim(BaseModel):
    """A sentence of a publication that its and our numbers can hold or not."""

    kind: Literal["lowest", "below", "near", "influence", "time"]
    title: str
    score: str = "rmse"
    first: float = 0.0  # s, the horizons it is about
    last: float = 0.0
    horizon: float = 0.0
    value: float = 0.0
    parameter: str = ""  # a hyper-parameter, whose best value lowers the mean validation nRMSE
    highest: float = 0.0  # from this
    lowest: float = 0.0  # to this
    hidden: int = 0
    history: float = 0.0
    milliseconds: float = 0.0
    machine: str = ""


class Published(BaseModel):
    """What a publication prints: means as text, so that the number of digits is known."""

    source: str
    recordings: tuple[str, ...]
    values: dict[str, dict[str, dict[str, str]]]  # group, method, score
    claims: tuple[Claim, ...]


@dataclass(frozen=True)
class Compared:
    """A published mean and ours; the intervals are half-widths at 95 %."""

    title: str
    group: str
    score: str
    printed: str
    published: float
    published_interval: float
    ours: float
    interval: float | None  # None where it is not known
    rounding: float  # half a unit of the last printed digit

    @property
    def difference(self) -> float:
        """Relative to the published mean."""
        return self.ours / self.published - 1

    @property
    def within(self) -> bool | None:
        """Whether both intervals together, √(Δ² + Δ²), and the rounding of the print explain the difference."""
        if self.interval is None or not math.isfinite(self.ours):
            return None
        return abs(self.ours - self.published) <= math.hypot(self.published_interval, self.interval) + self.rounding


@dataclass(frozen=True)
class Verdict:
    """A claim, what we found, and whether it holds; None where we cannot tell."""

    claim: Claim
    held: bool | None
    found: str  # in words


def published(name: str) -> Published | None:
    """The numbers of a published study, or None for any other study."""
    if name not in published_names():
        return None
    text = (files("breathcast.studies") / "published" / f"{name}.json").read_text(encoding="utf-8")
    return Published.model_validate_json(text)


def comparable(results: Results, known: Published) -> bool:
    """Whether ours are the published recordings: numbers of other people say nothing."""
    return results.recordings == known.recordings


def deviations(results: Results) -> list[str]:
    """What of the published protocol was changed for this run."""
    if results.spec.name not in published_names():
        return []
    theirs, ours = published_spec(results.spec.name), results.spec
    found = [
        f"{key.replace('_', ' ')}: {_short(getattr(ours, key))} instead of {_short(getattr(theirs, key))}"
        for key in _PROTOCOL
        if _same(getattr(ours, key)) != _same(getattr(theirs, key))
    ]
    grids = {entry.title: entry.grid for entry in theirs.method}
    thinned = [entry.title for entry in ours.method if entry.grid != grids.get(entry.title)]
    return found + ([f"a smaller grid for {', '.join(thinned)}"] if thinned else [])


def _same(value: Any) -> Any:
    return value.values() if hasattr(value, "values") else value


def _short(value: Any) -> str:
    values = _same(value)
    return f"{len(values)} ({values[0]:g}-{values[-1]:g} s)" if isinstance(values, tuple) else str(values)


def compare(results: Results, known: Published) -> list[Compared]:
    """Every published mean beside ours, in the order of the groups, scores and methods."""
    ours = {
        (row["title"], row["group"], row["score"]): row for row in statistics.averages(results).iter_rows(named=True)
    }
    names = {entry.title: entry.name for entry in results.spec.method}
    return [
        _compared(row, known.values[group][_key(title, names, known.values[group])][score])
        for group in known.values
        for score in SCORES
        for title in names
        if (row := ours.get((title, group, score))) and _key(title, names, known.values[group])
    ]


def _key(title: str, names: Mapping[str, str], values: Mapping[str, Any]) -> str:
    """The published method that ours answers to, by its title or its name; empty where there is none."""
    return next((key for key in (title, names[title]) if key in values), "")


def _compared(row: Mapping[str, Any], printed: str) -> Compared:
    mean, _, half = printed.partition(" ± ")
    return Compared(
        title=row["title"],
        group=row["group"],
        score=row["score"],
        printed=printed,
        published=float(mean),
        published_interval=float(half or 0),
        ours=row["mean"],
        interval=row["interval"],
        rounding=0.5 * 10.0 ** -len(mean.partition(".")[2]),
    )


def verdicts(results: Results, known: Published) -> list[Verdict]:
    """Each published claim, judged by our means over all recordings."""
    means = statistics.by_horizon(results).filter(pl.col("group") == "all")
    there = [claim for claim in known.claims if claim.title in {entry.title for entry in results.spec.method}]
    return [_verdict(claim, results, means) for claim in there]


def _verdict(claim: Claim, results: Results, means: pl.DataFrame) -> Verdict:
    if claim.kind == "time":
        return Verdict(claim, *_time(claim, results))
    if claim.kind == "influence":
        return Verdict(claim, *_influence(claim, results))
    rows = means.filter(pl.col("score") == claim.score)
    if claim.kind == "near":
        at = rows.filter((pl.col("title") == claim.title) & ((pl.col("horizon") - claim.horizon).abs() < 1e-6))
        if not len(at):
            return Verdict(claim, None, "not computed")
        ours = float(at["mean"][0])
        return Verdict(claim, abs(ours / claim.value - 1) <= NEAR, f"{ours:.3g} ({ours / claim.value - 1:+.1%})")
    span = rows.filter(pl.col("horizon").is_between(claim.first - 1e-6, claim.last + 1e-6))
    return Verdict(claim, *(_below if claim.kind == "below" else _lowest)(claim, span))


def _influence(claim: Claim, results: Results) -> tuple[bool | None, str]:
    found = statistics.relative_influence(statistics.influence(results))
    own = found.filter((pl.col("title") == claim.title) & (pl.col("parameter") == claim.parameter))
    if not len(own):
        return None, "not computed"
    pairs = ((float(own["highest"][0]), claim.highest), (float(own["lowest"][0]), claim.lowest))
    said = " to ".join(f"{ours:.3f} ({ours / theirs - 1:+.1%})" for ours, theirs in pairs)
    return all(abs(ours / theirs - 1) <= NEAR for ours, theirs in pairs), said


def _below(claim: Claim, span: pl.DataFrame) -> tuple[bool | None, str]:
    ours = span.filter(pl.col("title") == claim.title)
    if not len(ours):
        return None, "not computed"
    top = ours.sort("mean", descending=True).row(0, named=True)
    return top["mean"] < claim.value, f"at most {top['mean']:.3g}, at {top['horizon']:g} s"


def _lowest(claim: Claim, span: pl.DataFrame) -> tuple[bool | None, str]:
    """Among the methods that forecast: 'no prediction' always has the lowest jitter."""
    rivals = list(_winners(span))
    if not rivals or claim.title not in set(span["title"]) or len(set(span["title"]) - {"persistence"}) < 2:
        return None, "not computed"
    lost = [(horizon, winner) for horizon, winner in rivals if winner != claim.title]
    if not lost:
        return True, f"at all {len(rivals)} horizons"
    said = ", ".join(f"{horizon:g} s {winner}" for horizon, winner in lost)
    return False, f"at {len(rivals) - len(lost)} of {len(rivals)} horizons; lowest is at {said}"


def _winners(span: pl.DataFrame) -> Iterator[tuple[float, str]]:
    forecasting = span.filter((pl.col("title") != "persistence") & pl.col("mean").is_finite())
    for (horizon,), rows in forecasting.group_by("horizon", maintain_order=True):
        yield float(str(horizon)), str(rows.sort("mean")["title"][0])


def _time(claim: Claim, results: Results) -> tuple[bool | None, str]:
    """Another machine: our number, and no verdict."""
    times = statistics.step_times(results)
    own = times.filter(
        (pl.col("title") == claim.title)
        & (pl.col("hidden") == claim.hidden)
        & ((pl.col("history") - claim.history).abs() < 1e-6)
    )
    if not len(own):
        return None, "not computed"
    microseconds = float(own["microseconds"][0])
    return None, f"{microseconds:.1f} µs here, {1000 * claim.milliseconds / microseconds:.0f} times faster"


def to_dict(results: Results, known: Published | None) -> dict[str, Any]:
    """All means, the comparison and the claims, ready for JSON."""
    told: dict[str, Any] = {
        "study": results.spec.name,
        "feedback": results.spec.feedback,
        "missing": results.missing,
        "failed": results.failures,
        "averages": statistics.averages(results).to_dicts(),
        "by_horizon": statistics.by_horizon(results).to_dicts(),
        "changed": deviations(results),
    }
    if known is None or not comparable(results, known):
        return told
    compared = [
        {
            "title": c.title,
            "group": c.group,
            "score": c.score,
            "published": c.printed,
            "ours": c.ours,
            "interval": c.interval,
            "difference": c.difference,
            "within": c.within,
        }
        for c in compare(results, known)
    ]
    claims = [
        {**v.claim.model_dump(exclude_defaults=True), "held": v.held, "found": v.found}
        for v in verdicts(results, known)
    ]
    return told | {"source": known.source, "compared": compared, "claims": claims}
