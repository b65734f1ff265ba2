"""A pod's template decides who its program is and what it may use; the image decides nothing of it."""

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.worker.kubernetes.manifests.test_workloads import RUN
from worker.kubernetes import object_names
from worker.kubernetes.manifests.pod_template import (
    GPU,
    LAUNCHER,
    MEMORY_FILES_BYTES,
    TERMINATION_SECONDS,
    node_affinity,
    pod_environment,
    pod_labels,
    pod_resources,
    pod_security_context,
    pod_template,
    runtime_mounts,
    runtime_volumes,
    unit_memory,
)
from worker.kubernetes.manifests.run_spec import GangNode, RunSpec

GIB = 1024**3


def test_the_program_is_a_normal_user_without_any_privilege() -> None:
    spec = pod_template(RUN, "run", ["sleep"], 2)["spec"]
    (container,) = spec["containers"]
    assert (spec["securityContext"]["runAsUser"], spec["securityContext"]["runAsGroup"]) == (RUN.uid, RUN.gid)
    assert spec["securityContext"]["runAsNonRoot"] is True and spec["automountServiceAccountToken"] is False
    assert container["securityContext"] == pod_security_context()
    assert pod_security_context() == {
        "privileged": False,
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert spec["terminationGracePeriodSeconds"] == RUN.grace + TERMINATION_SECONDS


def test_what_is_given_beside_stands_in_the_container_and_on_the_pod() -> None:
    variable = {"name": "RANK", "value": "1"}
    template = pod_template(
        RUN,
        "worker",
        ["sleep", "1"],
        2,
        more={"workingDir": "/home"},
        env=[variable],
        labels={"role": "worker"},
    )
    (container,) = template["spec"]["containers"]
    assert (container["name"], container["command"], container["workingDir"]) == (
        "worker",
        ["sleep", "1"],
        "/home",
    )
    assert container["env"][-1] == variable
    assert template["metadata"]["labels"] == pod_labels(RUN) | {"role": "worker"}
    assert template["metadata"]["annotations"] == {object_names.FOLDER: str(RUN.folder)}
    assert pod_labels(RUN) == object_names.attempt_labels(
        RUN.installation, RUN.workspace, RUN.job, RUN.attempt
    )


@pytest.mark.parametrize(
    ("run", "units", "resources"),
    [
        (
            RUN,
            2,
            {
                "limits": {"cpu": "8000m", "memory": str(64 * GIB), GPU: "2"},
                "requests": {"cpu": "4000m", "memory": str(64 * GIB), GPU: "2"},
            },
        ),
        (replace(RUN, has_gpus=False, cpus=0.01, memory=None), 1,
         {"limits": {"cpu": "100m"}, "requests": {"cpu": "50m"}}),
        (replace(RUN, has_gpus=False, cpus=None, memory=None), 2, {"limits": {}, "requests": {}}),
        (RUN, 0, {"requests": LAUNCHER, "limits": {"memory": LAUNCHER["memory"]}}),
    ],
    ids=["gpus", "a small slot", "without limits", "launcher"],
)  # fmt: skip
def test_a_pod_asks_for_its_units(run: RunSpec, units: int, resources: dict[str, Any]) -> None:
    assert pod_resources(run, units) == resources


@pytest.mark.parametrize(
    ("run", "units", "size"),
    [(RUN, 2, 32 * GIB), (RUN, 0, MEMORY_FILES_BYTES), (replace(RUN, memory=None), 2, MEMORY_FILES_BYTES)],
)
def test_files_in_memory_may_have_half_of_the_memory(run: RunSpec, units: int, size: int) -> None:
    assert unit_memory(run, units)["emptyDir"] == {"medium": "Memory", "sizeLimit": str(size)}


@pytest.mark.parametrize(
    ("has_gpus", "units", "is_hidden"), [(True, 2, False), (True, 0, True), (False, 2, True)]
)
def test_gpus_are_hidden_from_a_pod_that_has_none(has_gpus: bool, units: int, is_hidden: bool) -> None:
    names = [each["name"] for each in pod_environment(replace(RUN, has_gpus=has_gpus), units)]
    assert ("NVIDIA_VISIBLE_DEVICES" in names) is is_hidden
    assert "GROUNDCREW_NODE" in names


def test_a_pod_is_bound_to_its_nodes_by_name() -> None:
    run = replace(RUN, members=(GangNode("gpu02", 1), GangNode("gpu01", 1)))
    affinity = pod_template(run, "run", [], 1)["spec"]["affinity"]["nodeAffinity"]
    assert affinity == node_affinity(run.nodes)
    (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert [each["values"] for each in term["matchExpressions"]] == [["gpu01", "gpu02"]]


def test_each_folder_of_the_runtime_is_mounted_to_be_read() -> None:
    assert [each["configMap"]["name"] for each in runtime_volumes(RUN)] == [
        "gc-runtime-0123456789ab",
        "gc-runtime-groundcrew-models-0123456789ab",
    ]
    assert [(each["mountPath"], each["readOnly"]) for each in runtime_mounts(RUN)] == [
        ("/groundcrew/runtime", True),
        ("/groundcrew/runtime/groundcrew_models", True),
    ]
    assert [each["name"] for each in runtime_volumes(RUN)] == [each["name"] for each in runtime_mounts(RUN)]
