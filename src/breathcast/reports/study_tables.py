"""The tables of a study: our means, published ones beside them, published claims, what was chosen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from breathcast.evaluation.evaluate import IMMEDIATE_WARNING
from breathcast.evaluation.scores import Score
from breathcast.forecasters.table import METHODS
from breathcast.reports.glossary import REFERENCE, SCORE_WORDS
from breathcast.reports.plain import mean_and_interval, number
from breathcast.reports.tables import Cell, Row, Table
from breathcast.studies import statistics
from breathcast.studies.reproduction import Claim, Compared, Published, comparable, compare, verdicts
from breathcast.studies.run import Results

_DECIMALS = {"mae": 3, "rmse": 3, "nrmse": 4, "max_error": 2, "jitter": 4}  # as the published tables have them
_HELD = {True: "held", False: "not held", None: "–"}


def study_tables(results: Results, published: Published | None) -> list[Table]:
    """All of them; the published ones where ours are the same recordings."""
    tables = [*_group_tables(results), _horizon_table(results)]
    if published is not None and comparable(results, published):
        tables += _compared_tables(results, published)
        tables += _claims_table(results, published)
    return tables + _choices_table(results)


def _warning(results: Results) -> str | None:
    return IMMEDIATE_WARNING if results.spec.feedback == "immediate" else None


def _score(row: Mapping[str, Any]) -> Score:
    return Score(row["mean"], row["interval"], row["runs"], row["diverged"])


def _group_tables(results: Results) -> Iterable[Table]:
    """Method × score, for each group of recordings."""
    averages = statistics.averages(results)
    members = results.spec.members(results.recordings)
    for group, rows in averages.group_by("group", maintain_order=True):
        name, count = str(group[0]), len(members[str(group[0])])
        yield Table(
            caption=f"Scores, mean over {_recordings(name, count)} and all horizons",
            columns=("method", *(words.head for words in SCORE_WORDS.values())),
            rows=_ranked_rows(results, rows, "score", list(SCORE_WORDS), SCORE_WORDS),
            warning=_warning(results),
        )


def _recordings(group: str, count: int) -> str:
    return f"all {count} recordings" if group == "all" else f"the {count} {group} recordings"


def _horizon_table(results: Results) -> Table:
    """Method × horizon: the RMSE over all recordings."""
    rows = statistics.by_horizon(results).filter((pl.col("group") == "all") & (pl.col("score") == "rmse"))
    words = dict.fromkeys(results.spec.ahead, SCORE_WORDS["rmse"])
    return Table(
        caption="RMSE mm by horizon, mean over all recordings",
        columns=("method", *(f"{horizon:g} s" for horizon in results.spec.ahead)),
        rows=_ranked_rows(results, rows, "horizon", list(results.spec.ahead), words),
        warning=_warning(results),
    )


def _ranked_rows(
    results: Results, rows: pl.DataFrame, by: str, columns: Sequence[Any], words: Mapping[Any, Any]
) -> tuple[Row, ...]:
    """A row a method, a cell a column; the lowest of a ranked score is marked."""
    known = {(row["title"], row[by]): _score(row) for row in rows.iter_rows(named=True)}
    best = {
        column: min((score.mean for (_, at), score in known.items() if at == column), default=None)
        for column in columns
    }
    found = []
    for entry in results.spec.method:
        cells = []
        for column in columns:
            score = known.get((entry.title, column))
            text = "–" if score is None else mean_and_interval(score, words[column].decimals)
            cells.append(Cell(text, best=score is not None and words[column].ranked and score.mean == best[column]))
        found.append(Row(entry.title, tuple(cells), METHODS[entry.name].title, entry.name == REFERENCE))
    return tuple(found)


def _compared_tables(results: Results, published: Published) -> Iterable[Table]:
    """Published, ours, difference and verdict: a table a group, a block of rows a score."""
    delayed = results.spec.feedback == "delayed"
    groups: dict[str, list[Compared]] = {}
    for each in compare(results, published):
        groups.setdefault(each.group, []).append(each)
    for group, rows in groups.items():
        beside = "published with immediate feedback, ours with delayed" if delayed else "published and ours"
        columns = ("", "published", "ours", "difference") + (() if delayed else ("within the interval",))
        yield Table(
            caption=f"{group.capitalize()}: {beside}",
            columns=columns,
            rows=tuple(_compared_row(each, delayed) for each in rows),
            warning=IMMEDIATE_WARNING,
            words=True,
        )


def _compared_row(each: Compared, delayed: bool) -> Row:
    words, decimals = SCORE_WORDS[each.score], _DECIMALS[each.score]
    half = f" ± {number(each.interval, decimals)}" if each.interval else ""
    cells = [Cell(each.printed), Cell(number(each.ours, decimals) + half), Cell(f"{100 * each.difference:+.1f} %")]
    if not delayed:
        cells.append(Cell({True: "yes", False: "no", None: "–"}[each.within]))
    return Row(f"{words.head}: {each.title}", tuple(cells))


def _claims_table(results: Results, published: Published) -> list[Table]:
    """What the publication says by horizon, and whether our means say it too."""
    rows = tuple(
        Row(claim_in_words(verdict.claim), (Cell(_HELD[verdict.held]), Cell(verdict.found)))
        for verdict in verdicts(results, published)
    )
    if not rows:
        return []
    caption = f"Claims by horizon of {published.source.split(',', maxsplit=1)[0]}"
    return [Table(caption, ("claim", "ours", "found"), rows, _warning(results), words=True)]


def claim_in_words(claim: Claim) -> str:
    """A claim as a sentence."""
    words = SCORE_WORDS[claim.score]
    span = f"{claim.first:g} s" if claim.first == claim.last else f"{claim.first:g}-{claim.last:g} s"
    if claim.kind == "lowest":
        return f"{claim.title} has the lowest {words.short} at {span}"
    if claim.kind == "below":
        return f"{words.head} of {claim.title} stays below {claim.value:g} at {span}"
    if claim.kind == "near":
        return f"{words.head} of {claim.title} at {claim.horizon:g} s is {claim.value:g} (within 3 %)"
    if claim.kind == "influence":
        name = claim.parameter.replace("_", " ")
        return (
            f"the right {name} of {claim.title} lowers the validation nRMSE from {claim.highest:g} to {claim.lowest:g}"
        )
    return (
        f"a step of {claim.title} with {claim.hidden} units and {claim.history:g} s takes "
        f"{claim.milliseconds:g} ms ({claim.machine})"
    )


def _choices_table(results: Results) -> list[Table]:
    """How often each value of a hyper-parameter was chosen."""
    rows = []
    for entry in results.spec.method:
        chosen = [choice for choice in results.choices if choice.title == entry.title]
        names = list(entry.grid) or (list(entry.search.ranges) if entry.search else [])
        for name in names if chosen else ():
            counts = Counter(getattr(choice.method, name) for choice in chosen)
            said = ", ".join(f"{_value(value)} × {count}" for value, count in sorted(counts.items())[:12])
            rows.append(Row(f"{entry.title}: {name}", (Cell(said),)))
        ties = sum(choice.ties > 0 for choice in chosen)
        if ties:
            rows.append(Row(f"{entry.title}: ties", (Cell(f"{ties}; the first in the order of the grid was taken"),)))
    if not rows:
        return []
    return [Table("How often each value was chosen", ("hyper-parameter", "value × times"), tuple(rows), words=True)]


def _value(value: object) -> str:
    return f"{value:g}" if isinstance(value, int | float) else str(value)
