"""The pages and REST lists that are asked for, with their filters: common values, rare ones and such as no row has."""

from collections.abc import Iterator
from dataclasses import dataclass

from cluster.domain.states import JobState
from tests.bench.full_size.rows import member_ids, planned_jobs
from tests.bench.full_size.sizes import InstallationSize

BOTH = ("administrator", "member")
ACCESS_LOG_KINDS = ("job", "backup", "sweep")
"""Frequent, rare and absent."""
JOB_TABS = ("log", "checkpoints", "settings", "history")


@dataclass(frozen=True)
class Address:
    """`name` is the path with its values left out; `path` is what is asked for."""

    role: str
    name: str
    path: str

    def __str__(self) -> str:
        return f"{self.role} {self.name}"


def addresses(size: InstallationSize) -> Iterator[Address]:
    """Everything that is read without a change, once for each role that may."""
    for role in BOTH:
        yield from (Address(role, name, path) for name, path in common_pages(size))
    yield from (Address("administrator", name, path) for name, path in administrator_pages(size))


def user_of(size: InstallationSize, role: str) -> int:
    """The member is one of the first workspace, and manages none of it."""
    return 1 if role == "administrator" else member_ids(size, 1)[1]


def common_pages(size: InstallationSize) -> Iterator[tuple[str, str]]:
    """Pages and lists of everybody, in this order."""
    public = [job for job in planned_jobs(size) if job.training_id in (2, 3)]
    ended = next(job.id for job in public if job.state == "finished")
    deep = max(2, size.jobs // 2)
    yield "/", "/"
    yield from job_pages(size, ended, deep)
    yield from other_pages(size)
    yield from rest_lists(ended, deep)


def job_pages(size: InstallationSize, ended: int, deep: int) -> Iterator[tuple[str, str]]:
    yield "/jobs", "/jobs"
    yield "/jobs?before", f"/jobs?before={deep}"
    yield from (
        (f"/jobs?state={state}", f"/jobs?state={state}") for state in ("living", *map(str.lower, JobState))
    )
    yield "/jobs?workspace", "/jobs?workspace=1"
    yield "/jobs?training", "/jobs?training=2"
    yield "/jobs?user", f"/jobs?user={user_of(size, 'member')}"
    yield "/jobs?user=none", f"/jobs?user={user_of(size, 'administrator')}"
    yield "/jobs?sweep", "/jobs?sweep=1"
    yield "/jobs?workspace&state=failed", "/jobs?workspace=1&state=failed"
    yield "/jobs?user&state=stopped", f"/jobs?user={user_of(size, 'member')}&state=stopped"
    yield "/jobs?user=none&state=failed", f"/jobs?user={user_of(size, 'administrator')}&state=failed"
    yield "/jobs?state=failed&before", f"/jobs?state=failed&before={deep}"
    yield "/jobs?order=best", "/jobs?order=best"
    yield "/jobs?workspace&order=best&before", f"/jobs?workspace=1&order=best&before={ended}"
    yield "/jobs?workspace&order=ended", "/jobs?workspace=1&order=ended"
    yield "/jobs?order=oldest", "/jobs?order=oldest"
    yield "/jobs?q", "/jobs?q=run"
    yield "/jobs/compare", f"/jobs/compare?job={ended}"
    yield "/sweeps", "/sweeps"
    yield "/jobs/<id>", f"/jobs/{ended}"
    yield from ((f"/jobs/<id>?tab={tab}", f"/jobs/{ended}?tab={tab}") for tab in JOB_TABS)


def other_pages(size: InstallationSize) -> Iterator[tuple[str, str]]:
    yield "/queue", "/queue"
    yield from (
        (f"/queue?state={state}", f"/queue?state={state}") for state in ("waiting", "held", "running")
    )
    yield "/queue?workspace", "/queue?workspace=1"
    yield "/queue?user", f"/queue?user={user_of(size, 'member')}"
    yield "/queue?reason", "/queue?reason=waiting.quota_too_small"
    yield "/nodes", "/nodes"
    yield "/nodes?state", "/nodes?state=unreachable"
    yield "/nodes/<id>", "/nodes/1"
    yield "/workspaces", "/workspaces"
    yield "/workspaces/<id>", "/workspaces/1"
    yield "/trainings", "/trainings"
    yield "/trainings/<id>", "/trainings/2"
    yield "/datasets", "/datasets"
    yield "/operations", "/operations"
    yield from ((f"/operations?only={only}", f"/operations?only={only}") for only in ("open", "ended"))
    yield "/operations?before", f"/operations?before={max(2, size.operations // 2)}"
    yield "/accounting", "/accounting?month=2026-11"
    yield "/accounting?workspace", "/accounting?month=2026-11&workspace=1"
    yield "/environments", "/environments"
    yield "/profile", "/profile"
    yield "/search?q", "/search?q=run"
    yield "/search?q=none", "/search?q=zzz"


def rest_lists(ended: int, deep: int) -> Iterator[tuple[str, str]]:
    yield "/api/v1/jobs", "/api/v1/jobs"
    yield "/api/v1/jobs?cursor", f"/api/v1/jobs?cursor={deep}"
    yield "/api/v1/jobs?state=failed", "/api/v1/jobs?state=failed"
    yield "/api/v1/jobs?mine", "/api/v1/jobs?mine=true"
    yield "/api/v1/jobs/<id>", f"/api/v1/jobs/{ended}"
    yield "/api/v1/queue", "/api/v1/queue"
    yield "/api/v1/nodes", "/api/v1/nodes"
    yield "/api/v1/workspaces", "/api/v1/workspaces"
    yield "/api/v1/trainings", "/api/v1/trainings"
    yield "/api/v1/datasets", "/api/v1/datasets"


def administrator_pages(size: InstallationSize) -> Iterator[tuple[str, str]]:
    deep = max(2, size.audit_entries // 2)
    yield "/access-log", "/access-log"
    yield "/access-log?before", f"/access-log?before={deep}"
    yield from ((f"/access-log?kind={kind}", f"/access-log?kind={kind}") for kind in ACCESS_LOG_KINDS)
    yield "/access-log?kind=backup&before", f"/access-log?kind=backup&before={deep}"
    yield "/access-log?who", "/access-log?who=admin-01"
    yield "/access-log?who=none", "/access-log?who=nobody"
    yield "/access-log?outcome=refused", "/access-log?outcome=refused"
    yield "/access-log?outcome=failed", "/access-log?outcome=failed"
    yield "/access-log?day", "/access-log?day=2026-11-18"
    yield "/access-log?day&who", "/access-log?day=2026-11-18&who=admin-01"
    yield "/access-log/days", "/access-log/days"
    yield "/sweeps/<id>", "/sweeps/1"
    yield "/users", "/users"
    yield "/users/<id>", f"/users/{user_of(size, 'member')}"
    yield "/repairs", "/repairs"
    yield "/repairs/backups", "/repairs/backups"
    yield "/repairs/runs/<id>", "/repairs/runs/1"
    yield "/metrics", "/metrics"
