"""A lab with a backup that is put back, or refused."""

from pathlib import Path

import pytest
from sqlalchemy import select

from cluster.domain.errors import Refused
from cluster.domain.states import JobState, OperationKind
from cluster.services.audit.seals import read_newest_seal, seal_entries
from cluster.services.context import Cluster
from cluster.services.operations import lifecycle
from cluster.services.people import sessions
from cluster.store.audit import add_audit_entry
from cluster.store.jobs import Job
from tests.builders import (
    a_job,
    a_node,
    a_training,
    a_workspace,
    actor_of,
    an_administrator,
    holding,
)
from tests.conftest import Clock
from worker.backups.dump import make_backup
from worker.backups.restore import RestoreResult, restore_backup


@pytest.fixture
def lab(cluster: Cluster, clock: Clock) -> Cluster:
    """One job runs and one waits; an operation is open, somebody is signed in, three entries are sealed."""
    (cluster.settings.state_dir / "database").mkdir(exist_ok=True)
    person = an_administrator(cluster, "hjkim")
    training = a_training(cluster, a_workspace(cluster, person))
    node = a_node(cluster)
    holding(cluster, a_job(cluster, training, state=JobState.RUNNING, fence=1, name="running"), node.units)
    a_job(cluster, training, name="waiting")
    sessions.begin_session(cluster, person.id, "192.0.2.7", "a browser")
    with cluster.store.write() as session:
        lifecycle.request_operation(session, OperationKind.DATASET_DELETE, 1, actor_of(person), clock())
        for number in range(2):
            add_audit_entry(session, clock(), actor_of(person), "job.submitted", number)
    clock.move(minutes=2)
    seal_entries(cluster)
    return cluster


def backed_up(lab: Cluster) -> Path:
    return lab.settings.backups / str(make_backup(lab.settings, lab.clock(), read_newest_seal(lab))["name"])


def restored(lab: Cluster, file: Path, holds: bool = True) -> RestoreResult:
    lab.store.close()  # As the services that are stopped have closed theirs.
    return restore_backup(lab.settings, file, lab.clock, holds)


def refusal(lab: Cluster, file: Path) -> str:
    """Its code; what was there must be as it was."""
    with pytest.raises(Refused) as refused:
        restored(lab, file)
    with lab.store.read() as session:
        assert session.scalars(select(Job).where(Job.name == "running")).one().state is JobState.RUNNING
    return refused.value.code
