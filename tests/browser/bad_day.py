"""Servers on a bad day, written straight into the rows: what calls for a person, and a repair that helped by half."""

from dataclasses import replace
from datetime import time, timedelta

from sqlalchemy import update

from cluster.domain.repairs.run_matrix import RepairVerdict
from cluster.domain.states import (
    EnvironmentState,
    JobState,
    OperationKind,
    OperationState,
    TaskQueue,
    UnitKind,
    UnitState,
)
from cluster.services.context import Cluster
from cluster.store.environments import Environment
from cluster.store.facts import InstallationFact
from cluster.store.nodes import Node, Unit
from cluster.store.operations import Operation
from cluster.store.users import User
from tests.builders import (
    a_job,
    a_node,
    a_repair_run,
    a_training,
    a_user,
    a_workspace,
    add,
    an_administrator,
    holding,
)
from worker.backups.dump_files import write_backup_manifest

MASTER = "gpu01"
NAMES = (MASTER, "gpu02", "gpu03", "gpu04")
SILENT, BROKEN, FULL = "gpu02", "gpu03", "gpu04"
REPAIR = "restart-worker-agent"
STEPS = ("Let the agent start with the machine again", "Restart the agent")
UNREACHABLE = "ssh: connect to host gpu02 port 22: Connection timed out"
LOG = f"""
PLAY [Restart the agent] *******************************************************

TASK [{STEPS[0]}] *************************
ok: [gpu04]
fatal: [gpu02]: UNREACHABLE! => {{"changed": false, "msg": "{UNREACHABLE}"}}

TASK [{STEPS[1]}] *******************************************************
changed: [gpu04]

PLAY RECAP *********************************************************************
gpu02                      : ok=0    changed=0    unreachable=1    failed=0
gpu04                      : ok=2    changed=1    unreachable=0    failed=0
"""


def on_servers(cluster: Cluster) -> Cluster:
    """With the settings that are other there than on one machine."""
    return replace(
        cluster,
        settings=replace(cluster.settings, launcher="systemd", master_node=MASTER, backup_at=time(3, 0)),
    )


def fill_cluster(cluster: Cluster) -> tuple[User, int]:
    """The administrator, and the number of a run that was well on one of two nodes."""
    digest = Environment(name="default", digest="d", state=EnvironmentState.READY, created_at=cluster.clock())
    add(cluster, digest, InstallationFact(name="default_environment", value={"digest": "d"}))
    chief = an_administrator(cluster, "hjkim")
    nodes = {name: a_node(cluster, 8, name, UnitKind.GPU) for name in NAMES}
    tell_of(cluster, nodes)
    vision = a_workspace(cluster, a_user(cluster, "seoyeon"), units=16, name="vision-lab")
    now = cluster.clock()
    job = a_job(cluster, a_training(cluster, vision), state=JobState.RUNNING, units=4, started_at=now)
    holding(cluster, job, nodes[SILENT].units[:4])
    a_workspace(cluster, a_user(cluster, "minjun"), units=8, name="speech", ends_on=now.date() + timedelta(3))
    given_up(cluster, chief)
    make_backups(cluster)
    return chief, make_runs(cluster, chief, nodes)


def tell_of(cluster: Cluster, nodes: dict[str, Node]) -> None:
    """One is silent, one has a broken GPU, one a full disk."""
    now = cluster.clock()
    with cluster.store.write() as session:
        for name, node in nodes.items():
            heard = now - timedelta(minutes=4) if name == SILENT else now + timedelta(hours=1)
            session.execute(update(Node).where(Node.id == node.id).values(heartbeat_at=heard))
        session.get_one(Unit, nodes[BROKEN].units[5].id).state = UnitState.BROKEN
        full = session.get_one(Node, nodes[FULL].id)
        full.facts = {
            **(full.facts or {}),
            "disk_bytes": 2_000_000_000_000,
            "disk_free_bytes": 120_000_000_000,
        }


def given_up(cluster: Cluster, chief: User) -> None:
    operation = Operation(
        kind=OperationKind.DATASET_IMPORT, queue=TaskQueue.GENERAL, subject_id=None, workspace_id=None,
        state=OperationState.INTERRUPTED, requested_by=chief.id, requested_at=cluster.clock(),
        error_code="operation.dropped", error_data={"times": 5},
    )  # fmt: skip
    add(cluster, operation)


def make_backups(cluster: Cluster) -> None:
    """Last night's is damaged, the one before was proved."""
    folder = cluster.settings.backups
    folder.mkdir(parents=True, exist_ok=True)
    proved = {"restored_at": (cluster.clock() - timedelta(hours=30)).isoformat(), "restore_seconds": 12.0}
    other = {"problem": {"code": "broken.other_rows", "data": {"table": "jobs", "found": 1, "expected": 2}}}
    for hours, told in ((6, other), (30, proved)):
        made = cluster.clock() - timedelta(hours=hours)
        name = f"groundcrew-{made:%Y%m%d-%H%M%S}.sql.zst"
        (folder / name).write_bytes(b"x")
        about = {"name": name, "made_at": made.isoformat(), "size": 2_500_000, "sha256": "0" * 64, "revision": "0016",
                 "rows": {"jobs": 12_345}, "audit_head": 1, "audit_seal": None, "database": "postgresql"}  # fmt: skip
        write_backup_manifest(folder, about | told)


def make_runs(cluster: Cluster, chief: User, nodes: dict[str, Node]) -> int:
    now = cluster.clock()
    two = [[f"node-{nodes[name].id}", name] for name in (SILENT, FULL)]
    known = {
        "target": two[0][0],
        "host": f"{SILENT}, {FULL}",
        "targets": two,
        "reason": "silent for four minutes",
    }
    cells = ({SILENT: "unreachable", FULL: "ok"}, {FULL: "changed"})
    tasks = [
        {
            "name": step,
            "hosts": hosts,
            "lines": dict.fromkeys(hosts, 5 + 3 * n),
            "seconds": 40.2 if n == 0 else 1.3,
        }
        for n, (step, hosts) in enumerate(zip(STEPS, cells, strict=True))
    ]
    tasks[0]["output"] = {SILENT: UNREACHABLE}
    before = [{"is_ok": False, "code": "check.heartbeat_fresh.not", "data": {"names": [SILENT, FULL]}}]
    checks = [
        {"is_ok": False, "code": "check.host.silent", "data": {"host": SILENT}},
        {"is_ok": False, "code": "check.heartbeat_fresh.not", "data": {"names": [SILENT]}},
    ]
    operation = Operation(
        kind=OperationKind.REPAIR, queue=TaskQueue.REPAIR, subject_id=None, workspace_id=None,
        state=OperationState.FAILED, requested_by=chief.id, requested_at=now, error_code="repair.not_verified",
        error_data={"host": known["host"]},
    )  # fmt: skip
    add(cluster, operation)
    run = a_repair_run(
        cluster, chief, REPAIR, started_at=now, ended_at=now + timedelta(seconds=97), tasks=tasks, before=before,
        checks=checks, verdict=RepairVerdict.NOT_VERIFIED, operation_id=operation.id, playbook_rc=4, **known,
    )  # fmt: skip
    log = cluster.settings.state_dir / "log"
    log.mkdir(exist_ok=True)
    (log / f"operation-{operation.id}.log").write_text(LOG)
    return run.id
