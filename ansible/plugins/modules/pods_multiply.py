#!/usr/bin/python3
"""Lets a pod of each node that offers GPUs multiply on those that are free, and says what came of it."""

from __future__ import annotations

import json
import subprocess
import time
from typing import Any

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: pods_multiply
short_description: Multiplies on the free GPUs of each node in a pod, and compares with the CPU
description: >
  A pod for each node that offers nvidia.com/gpu asks for as many of them as no other pod has, and runs the program. On
  a node without a GPU on its bus something stands in for them; there the CPU multiplies. The pods are deleted
  afterwards.
options:
  image:
    description: The image in which the program runs.
    type: str
    required: true
  program:
    description: The text of a Python program that takes --gpus and prints a line of JSON.
    type: str
    required: true
  gpus:
    description: How many GPUs the bus of each node has, by the node's name in Kubernetes. Others are left alone.
    type: dict
    required: true
  seconds:
    description: How long a pod may take, the pull of its image included.
    type: int
    default: 600
author: Groundcrew
"""
EXAMPLES = r"""
- pods_multiply:
    image: "10.0.0.10:5443/default@sha256:0123"
    program: "{{ lookup('ansible.builtin.file', 'gpu_check.py') }}"
    gpus: {gpu-worker-1: 8}
"""
RETURN = r"""
nodes:
  description: >
    By node what its pod said (gpus, is_simulated, problem), which devices it had, or why there was none (skipped).
  type: dict
  returned: always
"""
NAMESPACE = "groundcrew-verify"
RESOURCE = "nvidia.com/gpu"
KUBECTL = ("kubectl", "--kubeconfig", "/etc/kubernetes/admin.conf")
ENDED = ("Succeeded", "Failed")
# The devices first: what the program prints last is its answer.
COMMAND = 'echo "devices $NVIDIA_VISIBLE_DEVICES"; exec python3 -c "$PROGRAM" --gpus "$WANTED"'
Thing = dict[str, Any]


class ClusterSilent(Exception):
    """In kubectl's last words."""


def kubectl(*words: str, text: str = "") -> str:
    done = subprocess.run([*KUBECTL, *words], input=text, capture_output=True, text=True)
    if done.returncode != 0:
        raise ClusterSilent(" ".join(done.stderr.split())[-400:])
    return done.stdout


def read_free(nodes: list[Thing], pods: list[Thing]) -> dict[str, tuple[int, int]]:
    """By node how many GPUs no pod has asked for, and how many there are; nodes without any are left out."""
    offered = {
        each["metadata"]["name"]: int(each["status"]["allocatable"].get(RESOURCE, 0)) for each in nodes
    }
    taken = dict.fromkeys(offered, 0)
    for pod in pods:
        node = pod["spec"].get("nodeName")
        if node in taken and pod["status"].get("phase") not in ENDED:
            taken[node] += sum(requested(each) for each in pod["spec"]["containers"])
    return {node: (count - taken[node], count) for node, count in offered.items() if count}


def requested(container: Thing) -> int:
    return int(container.get("resources", {}).get("limits", {}).get(RESOURCE, 0))


def pod_of(node: str, free: int, wanted: int, params: Thing) -> Thing:
    """Within Pod Security's `restricted` profile, as the pods of jobs."""
    variables = {
        "PROGRAM": params["program"],
        "WANTED": str(wanted),
        "HOME": "/tmp",
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
    }
    container = {
        "name": "multiply",
        "image": params["image"],
        "command": ["sh", "-c", COMMAND],
        "env": [{"name": name, "value": value} for name, value in variables.items()],
        "resources": {"requests": {"cpu": "100m", "memory": "512Mi"}, "limits": {RESOURCE: str(free)}},
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        "volumeMounts": [{"name": "scratch", "mountPath": "/tmp"}],
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"multiply-{node}", "namespace": NAMESPACE, "labels": {"app": "multiply"}},
        "spec": {
            "restartPolicy": "Never",
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "activeDeadlineSeconds": params["seconds"],
            "nodeSelector": {"kubernetes.io/hostname": node},
            "tolerations": [{"operator": "Exists"}],
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": 65534,
                "runAsGroup": 65534,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [container],
            "volumes": [{"name": "scratch", "emptyDir": {}}],
        },
    }


def namespace() -> Thing:
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": labels}}


def answer_of(pod: Thing, log: str) -> Thing:
    """The program's line, or a problem where it came to none."""
    lines = log.strip().splitlines()
    devices = lines[0].removeprefix("devices").strip() if lines and lines[0].startswith("devices") else ""
    try:
        found = json.loads(lines[-1])
    except (IndexError, ValueError):
        status = pod["status"]
        reasons = [status.get("reason"), status.get("message"), *waiting_reasons(status), *lines[-1:]]
        said = "; ".join(str(each) for each in reasons if each) or f"its phase is {status.get('phase')}"
        found = {"gpus": [], "is_simulated": False, "problem": f"the pod gave no answer: {said[:300]}"}
    return {**found, "devices": devices, "skipped": ""}


def waiting_reasons(status: Thing) -> list[str]:
    states = [each.get("state", {}).get("waiting", {}) for each in status.get("containerStatuses", [])]
    conditions = [each for each in status.get("conditions", []) if each.get("status") == "False"]
    return [each["message"] for each in (*states, *conditions) if each.get("message")]


def wait_for(names: list[str], seconds: int) -> dict[str, Thing]:
    """Pods by name as they ended, or as they are when the time is over."""
    deadline = time.monotonic() + seconds
    while True:
        items = json.loads(kubectl("--namespace", NAMESPACE, "get", "pods", "--output", "json"))["items"]
        pods = {each["metadata"]["name"]: each for each in items if each["metadata"]["name"] in names}
        if all(pods[name]["status"].get("phase") in ENDED for name in names) or time.monotonic() > deadline:
            return pods
        time.sleep(1)


def multiply(params: Thing) -> dict[str, Thing]:
    nodes = json.loads(kubectl("get", "nodes", "--output", "json"))["items"]
    pods = json.loads(kubectl("get", "pods", "--all-namespaces", "--output", "json"))["items"]
    free = {node: each for node, each in read_free(nodes, pods).items() if node in params["gpus"]}
    found: dict[str, Thing] = {
        node: {
            "gpus": [],
            "is_simulated": False,
            "problem": "",
            "devices": "",
            "skipped": "jobs hold all GPUs",
        }
        for node, (count, _) in free.items()
        if count < 1
    }
    wanted = [
        pod_of(node, count, count if int(params["gpus"][node]) else 0, params)
        for node, (count, _) in free.items()
        if count > 0
    ]
    if not wanted:
        return found
    names = [each["metadata"]["name"] for each in wanted]
    delete(find_left(pods, names))
    items = {"apiVersion": "v1", "kind": "List", "items": [namespace(), *wanted]}
    ended: list[str] = []
    try:
        kubectl("apply", "--filename", "-", text=json.dumps(items))
        for name, pod in wait_for(names, params["seconds"]).items():
            if pod["status"].get("phase") in ENDED:
                ended.append(name)
            log = (
                kubectl("--namespace", NAMESPACE, "logs", name) if pod["status"].get("phase") in ENDED else ""
            )
            found[name.removeprefix("multiply-")] = answer_of(pod, log)
    finally:
        # A pod that has ended holds no GPU any more: nobody has to wait until it is gone.
        delete(ended, "--wait=false")
        delete([name for name in names if name not in ended])
    return found


def find_left(pods: list[Thing], names: list[str]) -> list[str]:
    """What an earlier run that was killed has left. Pods of other nodes may be another run's."""
    ours = {each["metadata"]["name"] for each in pods if each["metadata"].get("namespace") == NAMESPACE}
    return [name for name in names if name in ours]


def delete(names: list[str], *more: str) -> None:
    words = ["--ignore-not-found", "--grace-period=1", "--timeout=60s", *more]
    if names:
        kubectl("--namespace", NAMESPACE, "delete", "pods", *names, *words)


def main() -> None:
    arguments = {
        "image": {"type": "str", "required": True},
        "program": {"type": "str", "required": True},
        "gpus": {"type": "dict", "required": True},
        "seconds": {"type": "int", "default": 600},
    }
    module = AnsibleModule(argument_spec=arguments, supports_check_mode=False)
    try:
        module.exit_json(changed=False, nodes=multiply(module.params))
    except ClusterSilent as problem:
        module.fail_json(
            msg=f"Kubernetes does not answer: {problem}\n"
            "    remedy: Bring the API server back, by the repairs of Kubernetes or by its own words.\n"
            "    journalctl -n 30 -u kubelet -u containerd"
        )


if __name__ == "__main__":
    main()
