"""A pod of each node multiplies on the GPUs that no other pod has."""

import json
from typing import Any

import pytest

GPUS = "nvidia.com/gpu"
PARAMS = {
    "image": "registry/default:1",
    "program": "print()",
    "gpus": {"w1": 0, "w2": 2, "m": 0},
    "seconds": 0,
}
ANSWER = {"framework": "torch 2", "is_simulated": True, "gpus": [], "problem": ""}


def node(name: str, count: int) -> dict[str, Any]:
    return {"metadata": {"name": name}, "status": {"allocatable": {GPUS: str(count)} if count else {}}}


def pod(node: str, count: int, phase: str = "Running", **metadata: str) -> dict[str, Any]:
    container = {"resources": {"limits": {GPUS: str(count)}}}
    spec = {"nodeName": node, "containers": [container, {}]}
    return {
        "metadata": {"name": "job-1", "namespace": "gc"} | metadata,
        "spec": spec,
        "status": {"phase": phase},
    }


class Cluster:
    """Stands for kubectl: pods that were applied end with `phase` and `log`."""

    def __init__(self, pods: list[dict[str, Any]], phase: str, log: str) -> None:
        self.nodes = [node("w1", 2), node("w2", 2), node("m", 0), node("stranger", 4)]
        self.pods, self.phase, self.log = pods, phase, log
        self.made: list[dict[str, Any]] = []
        self.deleted: list[tuple[set[str], bool]] = []
        """Which pods at a time, and whether it was waited for."""

    def __call__(self, *words: str, text: str = "") -> str:
        if words[0] == "apply":
            self.made = [each for each in json.loads(text)["items"] if each["kind"] == "Pod"]
        if "delete" in words:
            names = {word for word in words if word.startswith("multiply-")}
            self.deleted.append((names, "--wait=false" not in words))
        if "logs" in words:
            return self.log
        if "nodes" in words:
            return json.dumps({"items": self.nodes})
        if "--all-namespaces" in words:
            return json.dumps({"items": self.pods})
        if "pods" in words and "get" in words:
            return json.dumps({"items": [each | {"status": {"phase": self.phase}} for each in self.made]})
        return ""


@pytest.fixture
def multiply(module: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    def run(pods: list[dict[str, Any]], phase: str = "Succeeded", log: str = "") -> tuple[Any, Cluster]:
        cluster = Cluster(pods, phase, log or f"devices stand-in-0\n{json.dumps(ANSWER)}\n")
        monkeypatch.setattr(module, "kubectl", cluster)
        return module.multiply(PARAMS), cluster

    return run


pytestmark = pytest.mark.parametrize("module", ["pods_multiply"], indirect=True)


def test_pods_ask_for_what_is_free_and_the_cpu_stands_in_where_the_bus_has_none(multiply: Any) -> None:
    found, cluster = multiply([pod("w1", 1), pod("w2", 2, "Succeeded")])
    asked = {
        each["spec"]["nodeSelector"]["kubernetes.io/hostname"]: each["spec"]["containers"][0]
        for each in cluster.made
    }
    limits = {name: each["resources"]["limits"][GPUS] for name, each in asked.items()}
    assert limits == {"w1": "1", "w2": "2"}, "neither a node without GPUs nor one that this run does not know"
    wanted = {name: each["env"][1]["value"] for name, each in asked.items()}
    assert wanted == {"w1": "0", "w2": "2"}
    assert found["w1"] == {**ANSWER, "devices": "stand-in-0", "skipped": ""}
    assert cluster.deleted == [({"multiply-w1", "multiply-w2"}, False)]


def test_what_a_killed_run_has_left_is_gone_before_and_what_still_runs_afterwards(multiply: Any) -> None:
    left = {"name": "multiply-w1", "namespace": "groundcrew-verify"}
    _, cluster = multiply([pod("w1", 2, "Succeeded", **left)], "Pending")
    both = {"multiply-w1", "multiply-w2"}
    assert cluster.deleted == [({"multiply-w1"}, True), (both, True)]


def test_nothing_is_asked_of_gpus_that_jobs_hold(multiply: Any) -> None:
    found, cluster = multiply([pod("w1", 2), pod("w2", 1), pod("w2", 1)])
    assert {name: each["skipped"] for name, each in found.items()} == dict.fromkeys(
        ("w1", "w2"), "jobs hold all GPUs"
    )
    assert cluster.made == [] and cluster.deleted == []


def test_a_pod_without_an_answer_is_a_problem(multiply: Any) -> None:
    found, _ = multiply([pod("w1", 2)], "Failed", "devices void\nTraceback\nImportError: libcuda.so.1")
    assert found["w2"]["problem"] == "the pod gave no answer: ImportError: libcuda.so.1"
