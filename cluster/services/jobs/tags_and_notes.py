"""Writes what people note about jobs: tags and a note, of several jobs in one transaction."""

from collections.abc import Collection

from sqlalchemy import delete
from sqlalchemy.orm import Session

from cluster.domain.jobs.annotations import check_note, check_tags
from cluster.domain.people.actor import Actor
from cluster.domain.people.permissions import require_permission
from cluster.services.context import Cluster
from cluster.services.jobs.chosen_jobs import load_chosen, read_tags
from cluster.services.jobs.events import publish_jobs
from cluster.services.people.access import job_relation
from cluster.store.audit import add_audit_entry
from cluster.store.jobs import Job, JobTag


def change_tags(
    cluster: Cluster,
    actor: Actor,
    job_ids: Collection[int],
    add: Collection[str],
    remove: Collection[str] = (),
) -> dict[int, list[str]]:
    """Adds and removes tags of all jobs or of none, and returns the tags of each. A tag that is both added and removed
    is added.

    The job's user, the training's owner, the workspace's manager and administrators may. Raises NotFound, Forbidden,
    Refused.
    """
    now, added, removed = cluster.clock(), set(check_tags(add)), set(check_tags(remove))
    with cluster.store.write() as session:
        jobs = load_annotated(session, actor, job_ids)
        before = read_tags(session, [job.id for job in jobs])
        after = {job.id: check_tags((before.get(job.id, set()) - removed) | added) for job in jobs}
        for job in jobs:
            known, wanted = before.get(job.id, set()), set(after[job.id])
            if known == wanted:
                continue
            gone = JobTag.tag.in_(known - wanted)
            session.execute(delete(JobTag).where(JobTag.job_id == job.id, gone))
            session.add_all(JobTag(tag=tag, job_id=job.id) for tag in sorted(wanted - known))
            add_audit_entry(session, now, actor, "job.tagged", job.id, tags=after[job.id])
    publish_jobs(cluster, *after)
    return after


def write_note(cluster: Cluster, actor: Actor, job_ids: Collection[int], text: str) -> str | None:
    """Replaces the note of all of them; an empty text removes it. Raises NotFound, Forbidden, Refused."""
    now, note = cluster.clock(), check_note(text)
    with cluster.store.write() as session:
        changed = [job for job in load_annotated(session, actor, job_ids) if job.note != note]
        for job in changed:
            job.note = note
            add_audit_entry(session, now, actor, "job.noted", job.id)
        ids = [job.id for job in changed]
    publish_jobs(cluster, *ids)
    return note


def load_annotated(session: Session, actor: Actor, job_ids: Collection[int]) -> list[Job]:
    jobs = load_chosen(session, actor, job_ids)
    for job in jobs:
        require_permission("job.annotate", job_relation(actor, job), job.id)
    return jobs
