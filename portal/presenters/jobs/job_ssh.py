"""The command with which the person who submitted a job enters it by SSH, for the job's page and REST."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from cluster.domain.people.actor import Actor
from cluster.domain.ssh_logins import ssh_login_of
from cluster.domain.states import JobState
from cluster.services.context import Cluster
from cluster.services.people.ssh_keys import list_ssh_keys
from cluster.services.ssh.door_state import SshDoorState, read_door_state
from cluster.store.jobs import Job


@dataclass(frozen=True)
class JobSsh:
    """The command is empty while the door is closed."""

    door: SshDoorState
    command: str
    has_key: bool


def read_job_ssh(cluster: Cluster, actor: Actor, job: Job) -> JobSsh | None:
    """None for a job that this person cannot enter now."""
    if job.user_id != actor.user_id or job.state is not JobState.RUNNING:
        return None
    door = read_door_state(cluster)
    command = ssh_command(cluster, door, job.id) if door.is_open else ""
    return JobSsh(door, command, bool(list_ssh_keys(cluster, actor)))


def ssh_command(cluster: Cluster, door: SshDoorState, job_id: int) -> str:
    return f"ssh -p {door.port} {ssh_login_of(job_id)}@{door_host(cluster)}"


def door_host(cluster: Cluster) -> str:
    """The name or address that people type for the portal, where the door listens too."""
    return urlsplit(cluster.settings.public_url).hostname or cluster.settings.ssh_address
