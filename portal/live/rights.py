"""Reads who a session belongs to and which jobs that person may see, once for all who ask at the same time."""

import asyncio
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from cluster.domain.people.actor import Actor
from cluster.services.context import Cluster
from cluster.services.jobs import queries
from cluster.services.jobs.queries import JobAttempt
from cluster.services.people import sessions
from cluster.services.people.sessions import SignedInPerson

Wanted = dict[str, set[int]]
"""The jobs that are asked for, by the token of a session."""


@dataclass(frozen=True)
class Rights:
    """`person` is None once the session has ended; `attempts` has the newest one of each job that the person sees."""

    person: SignedInPerson | None
    attempts: Mapping[int, JobAttempt]


class RightsReader:
    """Reads rights after they were asked for, never before. Requests during a read share the next one. A thread reads,
    so that a slow database delays no stream.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.thread = ThreadPoolExecutor(1, "rights")
        self.wanted: Wanted = {}
        self.next_read: asyncio.Task[Mapping[str, Rights]] | None = None
        self.running = asyncio.Lock()

    async def read(self, token: str, job_ids: Collection[int]) -> Rights:
        return (await self.read_all({token: job_ids}))[token]

    async def read_all(self, wanted: Mapping[str, Collection[int]]) -> Mapping[str, Rights]:
        """Returns token → rights, for these tokens and perhaps others. Raises what the database raises."""
        for token, job_ids in wanted.items():
            self.wanted.setdefault(token, set()).update(job_ids)
        if self.next_read is None:
            self.next_read = asyncio.create_task(self._read_wanted())
        # The read goes on for the others if one request is cancelled.
        return await asyncio.shield(self.next_read)

    async def _read_wanted(self) -> Mapping[str, Rights]:
        async with self.running:
            wanted, self.wanted, self.next_read = self.wanted, {}, None
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self.thread, read_rights, self.cluster, wanted)


def read_rights(cluster: Cluster, wanted: Mapping[str, Collection[int]]) -> dict[str, Rights]:
    """Reads the sessions in one statement, and the rights in one more for each person who follows jobs."""
    with cluster.store.reuse_connection():
        people = sessions.read_signed_in_people(cluster, wanted)
        jobs_of_person: dict[SignedInPerson, set[int]] = {}
        for token, person in people.items():
            jobs_of_person.setdefault(person, set()).update(wanted[token])
        seen = {
            person: queries.read_newest_attempts(cluster, actor_of(person), job_ids)
            for person, job_ids in jobs_of_person.items()
        }
    return {token: rights_of(people.get(token), seen) for token in wanted}


def rights_of(
    person: SignedInPerson | None, seen: Mapping[SignedInPerson, Mapping[int, JobAttempt]]
) -> Rights:
    return Rights(person, seen[person] if person else {})


def actor_of(person: SignedInPerson) -> Actor:
    return Actor(person.user_id, person.name, person.is_administrator)
