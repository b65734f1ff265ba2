"""List the running jobs for make down and make status."""

from dataclasses import dataclass

from cluster.domain.states import JobState
from cluster.services.jobs.queries import list_jobs
from cluster.services.people.users import service_actor
from cluster.settings import Settings
from cluster.store.migrate import is_schema_current
from worker.bootstrap.terminal import terminal_text
from worker.composition import open_cluster

RUNNING = (JobState.STARTING, JobState.RUNNING, JobState.STOPPING)


@dataclass(frozen=True)
class RunningJobLine:
    id: int
    name: str
    workspace: str
    user: str

    def to_text(self) -> str:
        return terminal_text(
            "job-{id} {name} (workspace {workspace}, started by {user})",
            id=self.id,
            name=self.name,
            workspace=self.workspace,
            user=self.user,
        )


def list_running_job_lines(settings: Settings) -> list[RunningJobLine]:
    """Returns the lines; none if there is no database yet, or if it belongs to another version of the product."""
    if not is_schema_current(settings):
        return []
    cluster = open_cluster(settings)
    jobs = list_jobs(cluster, service_actor(cluster), states=RUNNING, limit=1000)
    return [RunningJobLine(job.id, job.name, job.workspace_name, job.user_name) for job in jobs]
