"""A workspace, a training with data and a node with four units, on which sweeps are made."""

from datetime import timedelta

from sqlalchemy import select

from cluster.domain.jobs.attempts import AttemptOutcome
from cluster.domain.jobs.submission import JobRequest
from cluster.domain.states import EnvironmentState, Launcher
from cluster.domain.sweeps.plan import SweepRequest
from cluster.services.context import Cluster
from cluster.services.jobs import attempts
from cluster.services.leases import HeldLease, acquire_lease
from cluster.services.sweeps import queries, submission
from cluster.store.environments import Environment
from cluster.store.facts import InstallationFact
from cluster.store.jobs import Attempt, Job, JobEvent, Sweep
from tests.builders import a_dataset, a_node, a_training, a_user, a_workspace, actor_of, add


class Lab:
    """A workspace with a member who owns a training with data, and a node with four units."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.member, self.other, self.manager = a_user(cluster), a_user(cluster), a_user(cluster)
        self.workspace = a_workspace(cluster, self.manager, (self.member, self.other), units=4)
        self.dataset = a_dataset(cluster, self.workspace)
        self.training = a_training(cluster, self.workspace, self.manager)
        a_node(cluster, 4)
        ready = Environment(
            name="default", digest="d", state=EnvironmentState.READY, created_at=cluster.clock()
        )
        add(cluster, ready, InstallationFact(name="default_environment", value={"digest": "d"}))

    def request(self, values: dict[str, str] | None = None, **changes: object) -> SweepRequest:
        job = JobRequest("lenet", 1, Launcher.HOROVOD, dataset_id=self.dataset.id)
        return SweepRequest(job, values or {"seed": "1..3"}, **changes)  # type: ignore[arg-type]

    def submit(self, values: dict[str, str] | None = None, **changes: object) -> Sweep:
        actor = actor_of(self.member)
        return submission.submit_sweep(self.cluster, actor, self.training.id, self.request(values, **changes))

    def jobs(self, sweep: Sweep) -> list[Job]:
        with self.cluster.store.read() as session:
            query = select(Job).where(Job.sweep_id == sweep.id).order_by(Job.sweep_number)
            return list(session.scalars(query))

    def states(self, sweep: Sweep) -> list[str]:
        return [job.state.value for job in self.jobs(sweep)]

    def sweep(self, sweep: Sweep) -> Sweep:
        return queries.read_sweep(self.cluster, actor_of(self.member), sweep.id)

    def codes(self, job: Job) -> list[str]:
        with self.cluster.store.read() as session:
            query = select(JobEvent.code).where(JobEvent.job_id == job.id).order_by(JobEvent.id)
            return list(session.scalars(query))

    def hold(self) -> HeldLease:
        held = acquire_lease(self.cluster, "scheduler", "one", timedelta(seconds=10))
        assert held
        return held

    def end(self, held: HeldLease, job: Job, outcome: AttemptOutcome) -> None:
        with self.cluster.store.read() as session:
            attempt_id = session.scalar(
                select(Attempt.id).where(Attempt.job_id == job.id, Attempt.ended_at.is_(None))
            )
        assert attempt_id and attempts.record_end(
            self.cluster, held, attempts.AttemptEnd(attempt_id, outcome)
        )
