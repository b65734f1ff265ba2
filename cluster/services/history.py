"""How long jobs of a training and size took lately: what their expected ends are made of."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from math import inf
from statistics import median

from sqlalchemy import select, true
from sqlalchemy.orm import Session

from cluster.domain.outlook import Source
from cluster.services.lines import FINISHED, JOBS, Query, among, dialect_of

NEWEST = 5
"""Finished jobs that are looked at per training and size."""

Kind = tuple[int, int]
"""Training and units."""


@dataclass(frozen=True)
class Spans:
    """Seconds that the newest finished jobs of a kind ran, or that a running one will have run at its end."""

    shortest: float
    usual: float
    longest: float


@dataclass(frozen=True)
class Expected:
    """How long a job will hold its units, in seconds; None where nothing is known."""

    seconds: float | None = None
    least: float | None = None
    most: float | None = None
    source: Source | None = None


def expect(spans: Spans | None, limit: int | None, source: Source = Source.HISTORY) -> Expected:
    """Earlier runs, or the run itself, tell it better than a time limit, which only cuts them off."""
    if spans is None:
        return Expected(limit, None, limit, Source.TIME_LIMITS) if limit else Expected()
    if limit is not None and limit <= spans.usual:
        return Expected(limit, min(limit, spans.shortest), limit, Source.TIME_LIMITS)
    return Expected(spans.usual, spans.shortest, min(limit or inf, spans.longest), source)


def read_spans(session: Session, job_ids: Iterable[int]) -> dict[Kind, Spans]:
    """Of the kinds that these jobs are of."""
    found: dict[Kind, list[float]] = {}
    ids = list(job_ids)
    rows = session.execute(spans_query(dialect_of(session)), {"ids": ids}) if ids else ()
    for training_id, units, started_at, ended_at in rows:
        if started_at and ended_at:
            found.setdefault((training_id, units), []).append((ended_at - started_at).total_seconds())
    return {kind: Spans(min(seconds), median(seconds), max(seconds)) for kind, seconds in found.items()}


def read_kind_spans(session: Session, training_id: int, units: int) -> Spans | None:
    """Of a kind of which nothing may wait yet."""
    newest = (
        select(JOBS.c.id)
        .where(JOBS.c.training_id == training_id, JOBS.c.units == units, JOBS.c.state == FINISHED)
        .order_by(JOBS.c.id.desc())
    )
    job_id = session.scalar(newest.limit(1))
    return read_spans(session, {job_id}).get((training_id, units)) if job_id else None


@cache
def spans_query(dialect: str) -> Query:
    """One search of `ix_jobs_finished` per kind."""
    asked = JOBS.alias("asked")
    kinds = select(asked.c.training_id, asked.c.units).distinct()
    kinds_there = kinds.where(among(asked.c.id, "ids", dialect)).subquery("kinds")
    newest = JOBS.alias("newest")
    wanted = (
        select(newest.c.id)
        .where(
            newest.c.training_id == kinds_there.c.training_id,
            newest.c.units == kinds_there.c.units,
            newest.c.state == FINISHED,
        )
        .order_by(newest.c.id.desc())
        .limit(NEWEST)
    )
    names = ("training_id", "units", "started_at", "ended_at")
    if dialect == "sqlite":
        columns = [JOBS.c[name] for name in names]
        return select(*columns).join_from(kinds_there, JOBS, JOBS.c.id.in_(wanted))
    found = wanted.with_only_columns(*(newest.c[name] for name in names)).lateral("found")
    return select(found).join_from(kinds_there, found, true())
