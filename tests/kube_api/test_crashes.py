"""A scheduler dies between what it makes in Kubernetes and what it writes down: nothing runs twice, nothing is lost."""

import os
import signal
import subprocess
import sys

import pytest

from cluster.domain.jobs.attempts import ObservedState
from tests.integration.worker.executors.executor_stages import end_of, until
from tests.integration.worker.executors.program_actions import Act
from tests.kube_api.stage import KubernetesStage
from tests.start_plans import change_plan
from tests.unit.roles.rendering import ROOT
from worker.executors.contract import StartPlan
from worker.kubernetes import object_names

STARTS = """
from dataclasses import replace
from pathlib import Path, PosixPath
from worker.executors.factory import open_kubernetes_executor
from tests.start_plans import change_plan
from worker.executors.contract import *
import sys
plan = eval(sys.argv[1])
mark, kubeconfig, *folders = sys.argv[2:]
open_kubernetes_executor(Path(kubeconfig), lambda: mark, *map(Path, folders)).start(plan)
"""


def start_and_die(stage: KubernetesStage, plan: StartPlan, point: str) -> None:
    where = stage.apis[0].kubeconfig, stage.ground / "storage", stage.runtime
    words = [repr(plan), stage.mark(), *map(str, where)]
    dead = subprocess.run(
        [sys.executable, "-c", STARTS, *words],
        env={**os.environ, "GC_CRASH": point, "PYTHONPATH": str(ROOT)},
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )
    assert dead.returncode == -signal.SIGKILL, dead.stderr[-2000:]


@pytest.mark.parametrize(
    "point",
    [
        pytest.param("kubernetes.create asking:5", marks=pytest.mark.long),
        "kubernetes.create answered:5",
    ],
)
def test_a_gang_whose_scheduler_died_while_it_was_made_runs_once(stage: KubernetesStage, point: str) -> None:
    """Runtime, volume, claim, the service that names the pods; the fifth is the Job itself."""
    plan = stage.plan(Act(says="hello\n"))
    nodes = (("node-1", 1), ("node-2", 1))
    rank = plan.program.argv
    gang = ("/usr/bin/python3", "/groundcrew/runtime/shim_gang.py", "plain", "1,1", "nowhere", "lo", "--")
    plan = change_plan(
        plan, argv=(*gang, *rank), gang="indexed", ranks=2, units_by_node=nodes, nodes=("node-1", "node-2")
    )
    start_and_die(stage, plan, point)
    until(
        stage, lambda: stage.executor.start(plan) or was_begun(stage, plan), what="its start by the next one"
    )
    assert end_of(stage, plan).exit_code == 0
    api, wanted = stage.server.api, object_names.label_selector(job=str(plan.job))
    assert len(api.list_all("Job", wanted, object_names.workspace_namespace(stage.workspace)).things) == 1
    assert (plan.out / "rank-0.stdout").read_bytes() == b"hello\n"


def was_begun(stage: KubernetesStage, plan: StartPlan) -> bool:
    return stage.executor.read_status(plan.folder).observed in (ObservedState.ALIVE, ObservedState.ENDED)
