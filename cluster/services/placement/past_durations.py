"""Reads how long recent jobs of a training and size ran; expected ends are computed from these durations."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from math import inf
from statistics import median

from sqlalchemy import select, true
from sqlalchemy.orm import Session

from cluster.domain.queue.start_estimate import EstimateSource
from cluster.services.placement.queue_heads import FINISHED_STATE, JOBS, Query, dialect_of, is_among

RUNS_PER_KIND = 5
"""The number of finished jobs that are read per training and size."""

JobKind = tuple[int, int]
"""The jobs of one training with the same number of units."""


@dataclass(frozen=True)
class DurationRange:
    """The shortest and longest run of the newest finished jobs of a kind, or of a running one at its end; seconds."""

    shortest: float
    usual: float
    longest: float


@dataclass(frozen=True)
class ExpectedDuration:
    """The seconds for which a job is expected to hold its units; None if nothing is known."""

    seconds: float | None = None
    least: float | None = None
    most: float | None = None
    source: EstimateSource | None = None


def expected_duration(
    spans: DurationRange | None, limit: int | None, source: EstimateSource = EstimateSource.HISTORY
) -> ExpectedDuration:
    """Prefers measured durations over the time limit, which only cuts a run off."""
    if spans is None:
        return (
            ExpectedDuration(limit, None, limit, EstimateSource.TIME_LIMITS) if limit else ExpectedDuration()
        )
    if limit is not None and limit <= spans.usual:
        return ExpectedDuration(limit, min(limit, spans.shortest), limit, EstimateSource.TIME_LIMITS)
    return ExpectedDuration(spans.usual, spans.shortest, min(limit or inf, spans.longest), source)


def read_durations(session: Session, job_ids: Iterable[int]) -> dict[JobKind, DurationRange]:
    """Reads the durations of the kinds of these jobs."""
    found: dict[JobKind, list[float]] = {}
    ids = list(job_ids)
    rows = session.execute(durations_query(dialect_of(session)), {"ids": ids}) if ids else ()
    for training_id, units, started_at, ended_at in rows:
        if started_at and ended_at:
            found.setdefault((training_id, units), []).append((ended_at - started_at).total_seconds())
    return {
        kind: DurationRange(min(seconds), median(seconds), max(seconds)) for kind, seconds in found.items()
    }


def read_durations_of_kind(session: Session, training_id: int, units: int) -> DurationRange | None:
    """Reads the durations of a kind of which perhaps no job waits yet."""
    newest = (
        select(JOBS.c.id)
        .where(JOBS.c.training_id == training_id, JOBS.c.units == units, JOBS.c.state == FINISHED_STATE)
        .order_by(JOBS.c.id.desc())
    )
    job_id = session.scalar(newest.limit(1))
    return read_durations(session, {job_id}).get((training_id, units)) if job_id else None


@cache
def durations_query(dialect: str) -> Query:
    """Finds each kind by one search of `ix_jobs_finished`."""
    asked = JOBS.alias("asked")
    kinds = select(asked.c.training_id, asked.c.units).distinct()
    kinds_there = kinds.where(is_among(asked.c.id, "ids", dialect)).subquery("kinds")
    newest = JOBS.alias("newest")
    wanted = (
        select(newest.c.id)
        .where(
            newest.c.training_id == kinds_there.c.training_id,
            newest.c.units == kinds_there.c.units,
            newest.c.state == FINISHED_STATE,
        )
        .order_by(newest.c.id.desc())
        .limit(RUNS_PER_KIND)
    )
    names = ("training_id", "units", "started_at", "ended_at")
    if dialect == "sqlite":
        columns = [JOBS.c[name] for name in names]
        return select(*columns).join_from(kinds_there, JOBS, JOBS.c.id.in_(wanted))
    found = wanted.with_only_columns(*(newest.c[name] for name in names)).lateral("found")
    return select(found).join_from(kinds_there, found, true())
