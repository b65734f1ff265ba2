"""Which pages people ask for: each person has a list of pages in equal shares, and each page some variants."""

from dataclasses import asdict, dataclass, field
from typing import Any

from sqlalchemy import select

from cluster.domain.states import JobState
from cluster.services.context import Cluster
from cluster.store.jobs import Job
from tests.bench.full_size.rows import user_name
from tests.bench.full_size.sizes import InstallationSize
from tests.bench.portal_load.full_installation import SignedInPerson

VARIANTS = 16


@dataclass(frozen=True)
class PlannedPage:
    """`paths` are asked for in turn."""

    name: str
    paths: list[str]
    headers: dict[str, str]


@dataclass(frozen=True)
class RequestPlan:
    """What the process of the clients does: each client asks for its pages, mixed, on one kept connection.

    Without `rate` each asks again as soon as it has an answer; with it all together begin so many per second.
    """

    port: int
    seconds: float
    clients: list[list[PlannedPage]]
    rate: float | None = None
    seed: int = 1

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass
class PageAnswers:
    """What clients saw of one page; times in seconds."""

    latencies: list[float] = field(default_factory=list)
    statuses: dict[str, int] = field(default_factory=dict)
    bytes: int = 0


def spread(below: int, count: int = VARIANTS) -> list[int]:
    """`count` numbers, dealt out evenly between 1 and `below`."""
    return [1 + (below - 2) * (step + 1) // (count + 1) for step in range(count)]


def pages_of(cluster: Cluster, size: InstallationSize, person: SignedInPerson) -> list[PlannedPage]:
    """Sixteen pages of an administrator, nine of a member."""
    deep = spread(size.jobs)
    home = person.workspace_id
    found: dict[str, list[str]] = {
        "dashboard": ["/"],
        "jobs": ["/jobs"],
        "jobs by state": ["/jobs?state=failed", "/jobs?state=stopped", "/jobs?state=living"],
        "jobs by workspace and person": [f"/jobs?workspace={home}&user={person.user_id}"],
        "jobs, deep": [f"/jobs?before={number}" for number in deep],
        "job": [f"/jobs/{number}" for number in jobs_of(cluster, home)],
        "queue": ["/queue"],
        "accounting": ["/accounting?month=2026-11"],
    }
    if person.is_administrator:
        found |= {
            "nodes": ["/nodes"],
            "access log": ["/access-log"],
            "access log, deep": [f"/access-log?before={number}" for number in spread(size.audit_entries)],
            "access log by person": [
                f"/access-log?who={user_name(size, number)}" for number in range(1, VARIANTS)
            ],
            "access log by a rare kind": ["/access-log?kind=backup"],
            "operations": ["/operations"],
            "node": [f"/nodes/{number}" for number in spread(size.nodes)],
        }
    browser = {"Cookie": person.cookie}
    pages = [PlannedPage(name, paths, browser) for name, paths in found.items()]
    rest = PlannedPage("REST jobs", ["/api/v1/jobs"], {"Authorization": f"Bearer {person.token}"})
    return [*pages, rest]


def jobs_of(cluster: Cluster, workspace_id: int) -> list[int]:
    """Ended jobs of a training that everybody in the workspace sees."""
    public = (workspace_id - 1) * 5 + 2
    query = select(Job.id).where(Job.training_id == public, Job.state == JobState.FINISHED)
    with cluster.store.read() as session:
        return list(session.scalars(query.order_by(Job.id).limit(VARIANTS)))
