#!/usr/bin/python3
"""Reads how Kubernetes is on one host, with the standard library and the tools that are there. Changes nothing."""

from __future__ import annotations

import glob
import json
import os
import platform
import re
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: kubernetes_state
short_description: Reads membership, certificates, API server, etcd, nodes and workloads of Kubernetes on this host
description: Read-only. What is not there is read as absent; nothing that is broken makes it fail.
options:
  folder:
    description: Where the role keeps its marks.
    type: path
    default: /etc/groundcrew/kubernetes
  cluster:
    description: Whether the API server is asked, about this node, and on the control plane about all and workloads.
    type: bool
    default: false
  nodes:
    description: Nodes that have to be there and ready; others may be switched off.
    type: list
    elements: str
    default: []
  namespaces:
    description: Namespaces of which every workload has to be whole.
    type: list
    elements: str
    default: [kube-system, kube-flannel]
author: Groundcrew
"""
EXAMPLES = r"""
- kubernetes_state:
    cluster: true
"""
RETURN = r"""
kubernetes:
  description: >
    is_member, is_begun (an interrupted beginning), is_foreign (a Kubernetes that we did not make), cgroup (1 or 2),
    forwards (whether the kernel lets traffic of pods through, and through its firewall), node_addresses (as the rules
    of this host's ports know them), swap_bytes, containerd (its version), gpu_model, certificates (days left by name),
    kubelet (what /healthz answered, or null), api and etcd (the same on the control plane), nodes and workloads (by
    name), unready (what of that is not as wanted), node and network (this one, and whether its pods get addresses),
    problem (what kubectl said instead).
  type: dict
  returned: always
"""
CONFIG = "/etc/kubernetes/admin.conf"
KUBELET = "/etc/kubernetes/kubelet.conf"
UNKNOWN_NODE = {"is_ready": False, "reason": "", "message": "", "allocatable": {}, "is_open": True}
DAY = 86_400
PATIENCE = 5
KINDS = "deployments,daemonsets,statefulsets"


def answer(address: str) -> int | None:
    """The status, or None where nobody answers. Certificates are looked at elsewhere."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with urllib.request.urlopen(address, timeout=PATIENCE, context=context) as answered:
            return int(answered.status)
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return None


def read_certificates() -> dict[str, float]:
    """Days left by name, as apiserver or etcd-server; what cannot be read has none."""
    found = {}
    pattern = "/etc/kubernetes/pki/**/*.crt"
    kubelet = "/var/lib/kubelet/pki/kubelet-client-current.pem"
    for path in (*sorted(glob.glob(pattern, recursive=True)), kubelet):
        if os.path.exists(path):
            name = os.path.relpath(path, "/etc/kubernetes/pki").removesuffix(".crt").replace("/", "-")
            found["kubelet-client" if path == kubelet else name] = days_left(path)
    return found


def days_left(path: str) -> float:
    command = ["openssl", "x509", "-noout", "-enddate", "-in", path]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    if not said.startswith("notAfter="):
        return -1.0
    return round((ssl.cert_time_to_seconds(said.strip().partition("=")[2]) - time.time()) / DAY, 2)


def kubectl(*words: str, config: str = CONFIG) -> tuple[dict[str, Any], str]:
    """What it says as JSON, or its last words."""
    patience = f"--request-timeout={PATIENCE}s"
    command = ["kubectl", "--kubeconfig", config, patience, "get", *words, "-o", "json"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        return {}, str(error)[:300]
    return (json.loads(done.stdout), "") if done.returncode == 0 else ({}, done.stderr.strip()[-300:])


def read_node() -> tuple[dict[str, Any], str]:
    """This machine's own node, asked with the kubelet's own key; and what was said instead."""
    listed, problem = kubectl("node", platform.node().partition(".")[0].lower(), config=KUBELET)
    return (node_of(listed) if listed else dict(UNKNOWN_NODE)), problem


def read_network() -> str:
    """Empty where a pod would get an address of this node's; else what is wrong: `none` or `other`."""
    if not glob.glob("/etc/cni/net.d/*.conf*"):
        return "none"
    try:
        lines = dict(
            line.partition("=")[::2] for line in Path("/run/flannel/subnet.env").read_text().splitlines()
        )
    except OSError:
        return "none"
    shown = subprocess.run(
        ["ip", "-o", "-4", "address", "show", "cni0"], capture_output=True, text=True, check=False
    )
    words = shown.stdout.split()
    return "other" if len(words) > 3 and words[3] != lines.get("FLANNEL_SUBNET") else ""


def read_nodes() -> tuple[dict[str, Any], str]:
    """By name: is_ready, the reason in Kubernetes' words, and the units that pods may ask for."""
    listed, problem = kubectl("nodes")
    found = {}
    for node in listed.get("items", ()):
        found[node["metadata"]["name"]] = node_of(node)
    return found, problem


def node_of(node: dict[str, Any]) -> dict[str, Any]:
    ready = next((each for each in node["status"].get("conditions", ()) if each["type"] == "Ready"), {})
    return {
        "is_ready": ready.get("status") == "True",
        "reason": ready.get("reason", ""),
        "message": ready.get("message", "")[:300],
        "allocatable": node["status"].get("allocatable", {}),
        "is_open": not node["spec"].get("unschedulable", False),
    }


def read_workloads() -> tuple[dict[str, list[int]], str]:
    """By namespace/name: pods that are ready and as new as they should be, and pods that are wanted."""
    listed, problem = kubectl("--all-namespaces", KINDS)
    found = {
        f"{each['metadata']['namespace']}/{each['metadata']['name']}": counted(each)
        for each in listed.get("items", ())
    }
    return found, problem


def counted(workload: dict[str, Any]) -> list[int]:
    status = workload["status"]
    is_current = status.get("observedGeneration", 0) >= workload["metadata"].get("generation", 0)
    if workload["kind"] == "DaemonSet":
        wanted, ready, new = (
            status.get(name, 0)
            for name in ("desiredNumberScheduled", "numberReady", "updatedNumberScheduled")
        )
    else:
        wanted = workload["spec"].get("replicas", 1)
        ready, new = status.get("readyReplicas", 0), status.get("updatedReplicas", 0)
    return [min(ready, new) if is_current else 0, wanted]


def read_cluster() -> dict[str, Any]:
    """What is asked of the API server; nodes and workloads only where somebody may see all of them."""
    node, problem = read_node()
    nodes: dict[str, Any] = {}
    workloads: dict[str, list[int]] = {}
    if os.path.exists(CONFIG):
        nodes, problem = read_nodes()
        if not problem:
            workloads, problem = read_workloads()
    return {
        "node": node,
        "network": read_network(),
        "api": answer("https://127.0.0.1:6443/readyz"),
        "etcd": answer("http://127.0.0.1:2381/health"),
        "nodes": nodes,
        "workloads": workloads,
        "problem": problem,
    }


def find_unready(found: dict[str, Any], wanted: dict[str, Any]) -> list[str]:
    nodes = [name for name in wanted["nodes"] if not found["nodes"].get(name, {}).get("is_ready")]
    workloads = [
        name
        for name, (ready, needed) in found["workloads"].items()
        if name.partition("/")[0] in wanted["namespaces"] and ready < needed
    ]
    return nodes + workloads


def read_marks(folder: Path) -> dict[str, bool]:
    is_member, is_begun = (folder / "member").exists(), (folder / "begun").exists()
    has_any = (
        bool(glob.glob("/etc/kubernetes/manifests/*.yaml")) or Path("/etc/kubernetes/kubelet.conf").exists()
    )
    return {
        "is_member": is_member and not is_begun,
        "is_begun": is_begun,
        "is_foreign": has_any and not is_member and not is_begun,
    }


def read_containerd() -> str:
    """Its version, as 1.7.24; empty where it is not there."""
    try:
        said = subprocess.run(["containerd", "--version"], capture_output=True, text=True, check=False).stdout
    except OSError:
        return ""
    found = re.search(r"\s(?:v|\d+:)?(\d+[.]\d+[.]\d+)", said)
    return found[1] if found else ""


def read_gpu_model() -> str:
    """As nvidia-smi calls the first one; empty where it does not answer."""
    command = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.splitlines()[0].strip() if done.returncode == 0 and done.stdout else ""


FORWARDING = ("ipv4/ip_forward", "bridge/bridge-nf-call-iptables", "bridge/bridge-nf-call-ip6tables")


def forwards() -> bool:
    """What the role's file for sysctl asks for."""
    files = [Path("/proc/sys/net") / name for name in FORWARDING]
    return all(file.exists() and file.read_text().strip() == "1" for file in files)


def read_addresses(rules: Path) -> list[str]:
    """Of the nodes, as the last run has written them into the rules of their ports."""
    text = rules.read_text() if rules.exists() else ""
    found = re.search(r"elements = \{([^}]*)\}", text)
    return [word.strip() for word in found[1].split(",") if word.strip()] if found else []


def read_swap() -> int:
    lines = Path("/proc/swaps").read_text().splitlines()[1:]
    return sum(int(line.split()[2]) * 1024 for line in lines)


def main() -> None:
    arguments = {
        "folder": {"type": "path", "default": "/etc/groundcrew/kubernetes"},
        "cluster": {"type": "bool", "default": False},
        "nodes": {"type": "list", "elements": "str", "default": []},
        "namespaces": {"type": "list", "elements": "str", "default": ["kube-system", "kube-flannel"]},
    }
    module = AnsibleModule(argument_spec=arguments, supports_check_mode=True)
    found: dict[str, Any] = {
        **read_marks(Path(module.params["folder"])),
        "cgroup": 2 if os.path.exists("/sys/fs/cgroup/cgroup.controllers") else 1,
        "forwards": forwards(),
        "node_addresses": read_addresses(Path(module.params["folder"]) / "pod-ports.nft"),
        "swap_bytes": read_swap(),
        "containerd": read_containerd(),
        "gpu_model": read_gpu_model(),
        "certificates": read_certificates(),
        "kubelet": answer("http://127.0.0.1:10248/healthz"),
    }
    if module.params["cluster"]:
        found |= read_cluster()
        found["unready"] = [found["problem"]] if found["problem"] else find_unready(found, module.params)
    module.exit_json(changed=False, kubernetes=found)


if __name__ == "__main__":
    main()
