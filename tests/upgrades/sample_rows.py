"""A small installation in which every table has a row and every column a value: the contents of a released dump."""

from datetime import timedelta
from typing import Any

from cluster.domain.people.actor import Actor
from cluster.domain.repairs.run_matrix import RepairVerdict
from cluster.domain.states import (
    AttemptState,
    CodeSource,
    CodeState,
    DatasetKind,
    DatasetState,
    DesiredState,
    EnvironmentState,
    JobState,
    Launcher,
    NotificationChannel,
    NotificationState,
    OperationKind,
    OperationState,
    TaskQueue,
    TrainingKind,
    UnitKind,
    UserRole,
    UserState,
    Visibility,
)
from cluster.services.audit.seals import seal_entries
from cluster.services.context import Cluster
from cluster.store.alerts import AlertOccurrence, Notification
from cluster.store.audit import add_audit_entry
from cluster.store.base import BaseRow
from cluster.store.datasets import Dataset
from cluster.store.environments import Environment
from cluster.store.facts import InstallationFact
from cluster.store.jobs import Attempt, Job, JobEvent, Sweep, first_position
from cluster.store.leases import IdempotentAnswer, Lease
from cluster.store.nodes import Allocation, Node, NodeToken, Unit
from cluster.store.operations import Operation
from cluster.store.queue import QueueExplanation, QueueTotal
from cluster.store.repairs import RepairLock, RepairRun
from cluster.store.trainings import CodeVersion, Training, TrainingMember
from cluster.store.users import ApiToken, FailedSignIn, OneTimeSecret, SignInSession, SshKey, User
from cluster.store.workspaces import Workspace, WorkspaceMember
from tests.builders import add

GIB = 1 << 30
HOUR = timedelta(hours=1)


class SampleInstallation:
    """Fills an empty, migrated database. Ids are what the database gives out: 1, 2, 3 … per table."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.now = cluster.clock()

    def fill(self) -> None:
        self.add_people()
        self.add_sign_ins()
        self.add_nodes()
        self.add_workspace()
        self.add_operations()
        self.add_dataset()
        self.add_trainings()
        self.add_sweep()
        self.add_ended_job()
        self.add_running_job()
        self.add_waiting_jobs()
        self.add_repair_runs()
        self.add_alerts()
        self.add_facts()
        self.add_audit()

    def add(self, *rows: BaseRow) -> None:
        """In this order, so that each gets the id that its place in the list says."""
        for row in rows:
            add(self.cluster, row)

    def add_people(self) -> None:
        active: dict[str, Any] = {"state": UserState.ACTIVE, "created_at": self.now - 9 * HOUR}
        self.admin = User(
            name="hjkim",
            full_name="김현주",
            role=UserRole.ADMINISTRATOR,
            password_hash="$argon2id$sample",
            language="ko",
            theme="dark",
            email="hjkim@example.org",
            password_changed_at=self.now - 8 * HOUR,
            **active,
        )
        self.user = User(name="minji", full_name="Minji O'Neill; \\", role=UserRole.USER, **active)
        gone = User(name="gone", role=UserRole.USER, state=UserState.DISABLED, created_at=self.now - 9 * HOUR)
        self.add(self.admin, self.user, gone)

    def add_sign_ins(self) -> None:
        created = self.now - HOUR
        self.add(
            SignInSession(
                token_hash="1" * 64,
                user_id=self.admin.id,
                created_at=created,
                seen_at=self.now,
                expires_at=self.now + HOUR,
                ended_at=self.now,
                address="192.0.2.7",
                browser="Firefox",
            ),
            OneTimeSecret(
                kind="password",
                user_id=self.user.id,
                secret_hash="2" * 64,
                created_at=created,
                expires_at=self.now + HOUR,
                used_at=self.now,
            ),
            FailedSignIn(name="3" * 64, address="192.0.2.8", at=created),
            ApiToken(
                user_id=self.user.id,
                name="notebook",
                secret_hash="4" * 64,
                scopes=["read", "write"],
                created_at=created,
                expires_at=self.now + HOUR,
                used_at=self.now,
                revoked_at=self.now,
            ),
            SshKey(
                user_id=self.user.id,
                name="laptop",
                public_key="ssh-ed25519 AAAA",
                fingerprint="SHA256:" + "6" * 43,
                created_at=created,
                used_at=self.now,
                removed_at=self.now,
                token_id=1,
            ),
            IdempotentAnswer(
                user_id=self.user.id, key="submit-1", body_hash="5" * 64, object_id=1, created_at=created
            ),
        )

    def add_nodes(self) -> None:
        self.node = Node(
            name="gpu01",
            boot_id="boot-1",
            heartbeat_at=self.now,
            facts={
                "cpus": 64,
                "memory_bytes": 512 * GIB,
                "disk_bytes": 4096 * GIB,
                "disk_free_bytes": 1024 * GIB,
                "driver": "570.86",
                "kubernetes_certificates": {"apiserver": "2027-06-01T00:00:00+00:00"},
            },
            fabric="ib0",
            draining_since=self.now,
            drained_by=self.admin.id,
            drain_reason="fan",
            lost_at=self.now,
            booted_at=self.now - HOUR,
            created_at=self.now - 9 * HOUR,
            units=[
                Unit(
                    identity=f"GPU-0000000{number}",
                    position=number,
                    kind=UnitKind.GPU,
                    model="NVIDIA H200",
                    memory_bytes=141 * GIB,
                    island="nvlink0",
                )
                for number in range(4)
            ],
        )
        self.add(
            self.node,
            NodeToken(
                name="gpu01",
                has_executor=True,
                secret_hash="6" * 64,
                created_at=self.now,
                revoked_at=self.now,
            ),
            NodeToken(name="gpu01", has_executor=True, secret_hash="7" * 64, created_at=self.now),
        )

    def add_workspace(self) -> None:
        today = self.now.date()
        self.workspace = Workspace(
            name="vision",
            description="Images; 100 % of them",
            starts_on=today,
            ends_on=today + timedelta(days=30),
            ended_at=self.now + 500 * HOUR,
            units=4,
            manager_id=self.admin.id,
            colour=3,
            created_at=self.now - 9 * HOUR,
            last_turn_at=self.now,
            last_turn_attempt_id=1,
        )
        self.add(self.workspace)
        for person in (self.admin, self.user):
            self.add(WorkspaceMember(workspace_id=self.workspace.id, user_id=person.id))

    def add_operations(self) -> None:
        common = {"workspace_id": self.workspace.id, "requested_by": self.admin.id, "requested_at": self.now}
        self.operation = Operation(
            kind=OperationKind.DATASET_IMPORT,
            queue=TaskQueue.GENERAL,
            subject_id=1,
            state=OperationState.FAILED,
            steps=[{"code": "dataset.unpack", "state": "failed", "detail": {"file": "a.zip"}}],
            progress=0.5,
            enqueued_at=self.now,
            started_at=self.now,
            ended_at=self.now,
            fence=1,
            claims=1,
            holder="tasks-general",
            lease_until=self.now,
            error_code="dataset.broken",
            error_data={"file": "a.zip"},
            **common,
        )
        asked = Operation(kind=OperationKind.REPAIR, queue=TaskQueue.REPAIR, **common)
        self.add(
            self.operation,
            asked,
            Lease(name="scheduler", holder="gpu01:1", fence=3, expires_at=self.now + HOUR),
        )

    def add_dataset(self) -> None:
        self.dataset = Dataset(
            workspace_id=self.workspace.id,
            name="birds",
            kind=DatasetKind.UPLOAD,
            state=DatasetState.FAILED,
            path="/data/birds",
            archive="birds.zip",
            files=3,
            bytes=5 * GIB,
            classes=[["owl", 2], ["wren", 1]],
            error_code="dataset.broken",
            error_data={"file": "a.zip"},
            created_by=self.user.id,
            created_at=self.now,
            deleted_at=self.now,
            operation_id=self.operation.id,
        )
        environment = Environment(
            name="default",
            digest="8" * 64,
            state=EnvironmentState.READY,
            path="/var/cache/groundcrew/training-8",
            contents=[["torch", "2.7.0", "training"]],
            operation_id=self.operation.id,
            created_at=self.now,
            ready_at=self.now,
        )
        self.add(environment, self.dataset)

    def add_trainings(self) -> None:
        common = {"workspace_id": self.workspace.id, "owner_id": self.user.id, "created_at": self.now}
        self.training = Training(
            name="lenet",
            description="First",
            kind=TrainingKind.BUILT_IN,
            model="lenet",
            visibility=Visibility.PRIVATE,
            code_version=2,
            **common,
        )
        own = Training(name="own", kind=TrainingKind.ADVANCED, code_version=1, **common)
        own.archived_at = own.deleted_at = self.now
        self.add(self.training, own)
        self.add(
            CodeVersion(
                training_id=own.id,
                number=2,
                state=CodeState.FAILED,
                source=CodeSource.ARCHIVE,
                origin="own.zip",
                base=1,
                files=1,
                bytes=9,
                manifest=[["train.py", 9, "0" * 64]],
                created_by=self.user.id,
                created_at=self.now,
                error_code="archive.link",
                error_data={"entry": "a"},
                operation_id=self.operation.id,
            )
        )
        self.add(TrainingMember(training_id=self.training.id, user_id=self.admin.id))

    def add_sweep(self) -> None:
        self.sweep = Sweep(
            workspace_id=self.workspace.id,
            training_id=self.training.id,
            user_id=self.user.id,
            name="rates",
            plan={"kind": "grid", "values": {"rate": [0.1, 0.01]}},
            jobs=1,
            most_at_once=1,
            stop_on_trouble=True,
            submitted_at=self.now,
            stopped_at=self.now,
            stop_code="sweep.nan",
            stop_data={"job": 1},
        )
        self.add(self.sweep)

    def a_job(self, name: str, state: JobState, **columns: Any) -> Job:
        job = Job(
            workspace_id=self.workspace.id,
            training_id=self.training.id,
            user_id=self.user.id,
            name=name,
            state=state,
            units=columns.pop("units", 1),
            launcher=Launcher.TORCHRUN,
            command=["train.py", "--rate", "0.1"],
            submitted_at=self.now - 3 * HOUR,
            **columns,
        )
        with self.cluster.store.write() as session:
            session.add(job)
            session.flush()
            job.position = first_position(job.id, job.priority)
        return job

    def add_ended_job(self) -> None:
        measured: dict[str, Any] = {
            "cpu_seconds": 12.5,
            "max_memory_bytes": 3 * GIB,
            "average_memory_bytes": 2 * GIB,
            "unit_seconds_used": 3000.25,
            "storage_bytes": 7 * GIB,
            "exit_code": 143,
            "end_code": "exit.stopped",
            "end_data": {"signal": 15},
            "started_at": self.now - 2 * HOUR,
            "ended_at": self.now - HOUR,
        }
        job = self.a_job(
            "ended",
            JobState.STOPPED,
            desired=DesiredState.STOP,
            fence=1,
            sweep_id=self.sweep.id,
            sweep_number=1,
            variables={"rate": 0.1},
            dataset_id=self.dataset.id,
            priority=2,
            held_at=self.now,
            held_by=self.admin.id,
            time_limit_seconds=3600,
            retries=2,
            retries_used=1,
            memory_bytes=64 * GIB,
            resume_from="1/step-10.pt",
            continues_job_id=1,
            continues_from="1/step-5.pt",
            dispatched_at=self.now - 2 * HOUR,
            waiting_code="waiting.units",
            waiting_data={"needed": 8, "free": 6},
            results={"loss": [0.1, 2.5, 0.2]},
            stopped_by=self.admin.id,
            files_unwanted_at=self.now,
            files_unwanted_by="minji",
            files_deleted_at=self.now,
            **measured,
        )
        attempt = Attempt(
            job_id=job.id,
            number=1,
            state=AttemptState.ENDED,
            node_id=self.node.id,
            handle={"boot_id": "boot-1", "pid": 4711},
            created_at=self.now - 2 * HOUR,
            resumed_from="0/step-0.pt",
            progress=0.75,
            expected_end_at=self.now,
            earliest_end_at=self.now,
            latest_end_at=self.now,
            stop_cause_code="disk.short",
            stop_cause_data={"free": 1},
            allocations=[
                Allocation(
                    unit_id=self.node.units[0].id,
                    begun_at=self.now - 2 * HOUR,
                    ended_at=self.now - HOUR,
                )
            ],
            **measured,
        )
        event = JobEvent(
            job_id=job.id, at=self.now - HOUR, state="stopped", code="exit.stopped", data={"by": "hjkim"}
        )
        self.add(attempt, event)

    def add_running_job(self) -> None:
        job = self.a_job("running", JobState.RUNNING, units=2, fence=1, started_at=self.now - HOUR)
        attempt = Attempt(
            job_id=job.id,
            number=1,
            state=AttemptState.RUNNING,
            node_id=self.node.id,
            created_at=self.now - HOUR,
            started_at=self.now - HOUR,
            allocations=[
                Allocation(unit_id=unit.id, begun_at=self.now - HOUR) for unit in self.node.units[:2]
            ],
        )
        self.add(attempt)

    def add_waiting_jobs(self) -> None:
        first = self.a_job("first", JobState.WAITING)
        self.a_job("foremost", JobState.WAITING, priority=1)
        self.a_job("held", JobState.WAITING, held_at=self.now, held_by=self.admin.id)
        total = QueueTotal(
            workspace_id=self.workspace.id,
            shape=first.shape,
            units=1,
            jobs=2,
            seconds=60.5,
            counted_at=self.now,
        )
        explanation = QueueExplanation(
            job_id=first.id,
            fence=0,
            code="waiting.quota_used",
            data={"quota": 4, "used": 2, "needed": 4, "kind": "gpu"},
            written_at=self.now,
        )
        self.add(total, explanation)

    def add_repair_runs(self) -> None:
        common: dict[str, Any] = {
            "name": "back-up-now",
            "target": "master",
            "host": "lab-a",
            "digest": "9" * 64,
            "requested_by": self.admin.id,
            "requested_at": self.now,
        }
        ended = RepairRun(
            targets=[["master", "lab-a"]],
            reason="before the update",
            operation_id=2,
            console_user="root",
            offline_record="1234567890123456",
            started_at=self.now,
            ended_at=self.now,
            cancel_requested_at=self.now,
            is_forced=True,
            is_dry_run=True,
            tasks=[{"name": "Write", "hosts": {"lab-a": "ok"}}],
            before=[{"is_ok": False, "code": "check.backup", "data": {}}],
            checks=[{"is_ok": True, "code": "check.backup", "data": {}}],
            reclaimable_paths=[["/var/log/old", 10]],
            verdict=RepairVerdict.DRY_RUN,
            playbook_rc=0,
            **common,
        )
        under_way = RepairRun(reason="now", **common)
        self.add(ended, under_way)
        self.add(
            RepairLock(run_id=ended.id, target="master", released_at=self.now),
            RepairLock(run_id=under_way.id, target="master"),
        )

    def add_alerts(self) -> None:
        alert = {"urgency": "caution", "topic": "nodes", "code": "attention.node", "data": {}, "details": []}
        ended = AlertOccurrence(
            key="attention.node:1", alert=alert, began_at=self.now, ended_at=self.now, notified_at=self.now
        )
        self.add(ended, AlertOccurrence(key="attention.node:1", alert=alert, began_at=self.now))
        self.add(
            Notification(
                occurrence_id=ended.id,
                channel=NotificationChannel.MAIL,
                user_id=self.admin.id,
                state=NotificationState.GIVEN_UP,
                made_at=self.now,
                next_at=self.now,
                tries=3,
                sent_at=self.now,
                error="refused",
            ),
            Notification(
                occurrence_id=ended.id,
                channel=NotificationChannel.WEBHOOK,
                made_at=self.now,
                next_at=self.now,
            ),
        )

    def add_facts(self) -> None:
        self.add(InstallationFact(name="default_environment", value={"digest": "8" * 64}))

    def add_audit(self) -> None:
        """Three entries, of which two are sealed."""
        actor = Actor(self.admin.id, self.admin.name, True, "192.0.2.7", "request-1")
        for name in ("job.submitted", "job.stopped"):
            with self.cluster.store.write() as session:
                add_audit_entry(session, self.now - HOUR, actor, name, 1, units=2)
        seal_entries(self.cluster)
        with self.cluster.store.write() as session:
            add_audit_entry(session, self.now, actor, "backup.made", None)
