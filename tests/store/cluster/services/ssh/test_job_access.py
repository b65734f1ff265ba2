"""The submitter of a running job enters it by a live key, while they may see it."""

from pathlib import Path

import pytest
from sqlalchemy import delete

from cluster.domain.errors import Refused
from cluster.domain.states import AttemptState, JobState, TrainingKind, UserState, Visibility
from cluster.services.context import Cluster
from cluster.services.people import api_tokens, ssh_keys
from cluster.services.ssh import job_access
from cluster.services.storage import folders
from cluster.store.jobs import Attempt, Job
from cluster.store.users import SshKey, User
from cluster.store.workspaces import WorkspaceMember
from tests.builders import a_job, a_node, a_training, a_user, a_workspace, actor_of, holding
from tests.conftest import Clock

KEY = Path("tests/data/ssh_keys/ed25519.pub").read_text()


class Case:
    """A member's running job in a training that somebody else owns."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.user, self.manager, self.owner = (a_user(cluster) for _ in range(3))
        workspace = a_workspace(cluster, self.manager, (self.user, self.owner), 2)
        training = a_training(cluster, workspace, self.owner, "lenet", TrainingKind.ADVANCED)
        self.job = a_job(cluster, training, self.user, state=JobState.RUNNING)
        self.attempt = holding(cluster, self.job, a_node(cluster, 1).units)
        self.key = ssh_keys.add_ssh_key(cluster, actor_of(self.user), "laptop", KEY)

    def entry(self) -> job_access.SshEntry | None:
        return job_access.find_entry(self.cluster, self.job.id, self.key.fingerprint)


def test_the_owner_of_the_job_enters_it(cluster: Cluster) -> None:
    case = Case(cluster)
    entry = case.entry()
    assert entry is not None
    assert (entry.user_id, entry.key_name, entry.job_id) == (case.user.id, "laptop", case.job.id)
    assert job_access.renew_entry(cluster, entry) == entry
    found = job_access.find_enterable_attempt(cluster, case.job.id)
    expected = folders.attempt_folder(cluster.settings, case.job.workspace_id, case.job.id, 1)
    assert (found.attempt, found.folder) == (1, expected)
    assert job_access.list_public_keys(cluster, case.user.id) == [case.key.public_key]
    assert job_access.newest_job_id(cluster) == case.job.id


OTHER = Path("tests/data/ssh_keys/ecdsa.pub").read_text()


@pytest.mark.parametrize(
    "written",
    [
        f"{KEY.strip()}\n{OTHER}",
        f"{KEY.strip()}\x0c{OTHER}",
        OTHER,
        f'command="/bin/sh" {KEY}',
        KEY.strip()[:-8],
        "",
    ],
)
def test_a_row_that_no_form_has_written_opens_nothing(cluster: Cluster, written: str) -> None:
    """sshd would take a second line for another key, without the ticket that leads into the job."""
    case = Case(cluster)
    with cluster.store.write() as rows:
        rows.get_one(SshKey, case.key.id).public_key = written
    assert case.entry() is None
    assert job_access.list_public_keys(cluster, case.user.id) == []


def test_nobody_else_enters_it(cluster: Cluster) -> None:
    """Neither the manager nor the training's owner nor an administrator: they would be the member's unix user."""
    case = Case(cluster)
    for number, user in enumerate((case.manager, case.owner)):
        with cluster.store.write() as rows:
            rows.get_one(SshKey, case.key.id).user_id = user.id
        assert case.entry() is None, number
    assert job_access.find_entry(cluster, case.job.id + 1, case.key.fingerprint) is None


@pytest.mark.parametrize("loss", ["key", "person", "membership", "token", "private"])
def test_the_right_ends_with_what_it_rests_on(cluster: Cluster, clock: Clock, loss: str) -> None:
    case = Case(cluster)
    entry = case.entry()
    assert entry is not None
    if loss == "token":
        ssh_keys.remove_ssh_key(cluster, actor_of(case.user), case.key.id)
        _, text = api_tokens.create_api_token(cluster, actor_of(case.user), "script", ["write"], 1)
        actor = api_tokens.authenticate_api_token(cluster, text, "")
        assert actor is not None
        case.key = ssh_keys.add_ssh_key(cluster, actor, "laptop", KEY)
        assert case.entry() is not None
        clock.move(days=2)
        assert case.entry() is None
        return
    if loss == "key":
        ssh_keys.remove_ssh_key(cluster, actor_of(case.user), case.key.id)
    with cluster.store.write() as rows:
        job = rows.get_one(Job, case.job.id)
        if loss == "person":
            rows.get_one(User, case.user.id).state = UserState.DISABLED
        elif loss == "membership":
            rows.execute(delete(WorkspaceMember).where(WorkspaceMember.user_id == case.user.id))
        elif loss == "private":
            job.training.visibility = Visibility.PRIVATE
    assert job_access.renew_entry(cluster, entry) is None and case.entry() is None


@pytest.mark.parametrize(
    ("job_state", "attempt_state", "code"),
    [
        (JobState.WAITING, AttemptState.PLACED, "ssh.waits"),
        (JobState.STARTING, AttemptState.STARTING, "ssh.not_ready"),
        (JobState.FINISHED, AttemptState.RUNNING, "ssh.has_ended"),
        (JobState.STOPPED, AttemptState.RUNNING, "ssh.has_ended"),
    ],
)
def test_only_a_running_attempt_is_entered(
    cluster: Cluster, job_state: JobState, attempt_state: AttemptState, code: str
) -> None:
    case = Case(cluster)
    with cluster.store.write() as rows:
        rows.get_one(Job, case.job.id).state = job_state
        rows.get_one(Attempt, case.attempt.id).state = attempt_state
    with pytest.raises(Refused) as refusal:
        job_access.find_enterable_attempt(cluster, case.job.id)
    assert refusal.value.code == code
