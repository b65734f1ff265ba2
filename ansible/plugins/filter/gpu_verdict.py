"""Judges whether the GPUs of a host work: a pure function of what the bus, the driver and the agent say of them.

The end of site.yml and the repair verify-gpus say the same, because both ask here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Finding = dict[str, str]


def gpu_findings(seen: Mapping[str, Any]) -> list[Finding]:
    """What does not work, each with its cause, a remedy and a command to type on that host; empty: all of it works.

    `seen`: bus (GPUs on the PCI bus), smi (lines of UUID and driver version from nvidia-smi), smi_message (its own
    words), offered (the agent's GPUs: uuid, is_broken), needs_fabric_manager, fabric_manager (state of its unit),
    fabric_version, fabric_ports (interface, device, port and state of what is there for InfiniBand), multiplied (UUIDs
    of the GPUs that computed what the CPU does), multiplied_message (what the check said instead), skipped (why nothing
    was multiplied), is_simulated.
    """
    bus, smi, offered = seen["bus"], shown_gpus(seen["smi"]), seen["offered"]
    found = port_findings(seen["fabric_ports"])
    if bus == 0:
        return found
    versions = sorted({line.split(", ")[1] for line in smi})
    others = [line for line in seen["smi"] if line not in smi]
    said = [*others, *seen["smi_message"].strip().splitlines()] or ["no more than that"]
    if len(smi) != bus:
        found.append(
            {
                "cause": f"{bus} GPUs are on the PCI bus and nvidia-smi shows {len(smi)}: {said[-1]}.",
                "remedy": "Look at the kernel's words; a GPU that is missing there has to be reseated or replaced.",
                "command": "dmesg | grep -i nvrm | tail -n 20",
            }
        )
    usable = [gpu for gpu in offered if not gpu["is_broken"]]
    if len(usable) != bus:
        found.append(
            {
                "cause": f"{bus} GPUs are on the PCI bus and the agent offers {len(usable)} to jobs.",
                "remedy": "It reads them by the driver's library; where nvidia-smi shows them all, start it anew.",
                "command": "systemctl restart groundcrew-agent; journalctl -n 20 -u groundcrew-agent",
            }
        )
    if seen["multiplied_message"].strip():
        found.append(
            {
                "cause": f"The training environment does not compute on the GPUs: "
                f"{seen['multiplied_message'].strip().splitlines()[-1]}",
                "remedy": "Where it is still being built, run this again afterwards; else look at the kernel's words.",
                "command": "groundcrew-upkeep multiply-on-gpus; dmesg | grep -iE 'nvrm|xid' | tail -n 20",
            }
        )
    if seen["needs_fabric_manager"]:
        found += fabric_findings(seen, versions)
    return found


def shown_gpus(smi: Sequence[str]) -> list[str]:
    """The lines that show a GPU: of one that is lost nvidia-smi may write a sentence, or a word in brackets."""
    return [line for line in smi if line.startswith("GPU-") and ", " in line]


def port_findings(ports: Sequence[Mapping[str, str]]) -> list[Finding]:
    """Ports of the interfaces that are there for InfiniBand and carry nothing."""
    return [
        {
            "cause": f"{each['interface']} is there for InfiniBand, and port {each['port']} of {each['device']} is "
            f"{each['state']}.",
            "remedy": "ACTIVE takes a cable, a switch, and a subnet manager that runs somewhere in the fabric.",
            "command": f"ibstat {each['device']} {each['port']}; sminfo",
        }
        for each in ports
        if each["state"] != "ACTIVE"
    ]


def fabric_findings(seen: Mapping[str, Any], versions: Sequence[str]) -> list[Finding]:
    """CUDA starts on boards with NVSwitches only while a fabric manager of the driver's own version runs."""
    if seen["fabric_manager"] != "active":
        return [
            {
                "cause": f"NVSwitches need the fabric manager, and it is {seen['fabric_manager'] or 'not there'}.",
                "remedy": "Without it CUDA says 'system not yet initialized' (802). Look at its own words.",
                "command": "journalctl -n 30 -u nvidia-fabricmanager",
            }
        ]
    if versions and [seen["fabric_version"]] != list(versions):
        return [
            {
                "cause": f"The fabric manager is {seen['fabric_version'] or 'of an unknown version'}, the driver "
                f"{' and '.join(versions)}; the two have to be the same.",
                "remedy": "Run the hardware's roles again: ansible-playbook site.yml --tags hardware",
                "command": "dpkg-query -W '*nvidia-fabricmanager*'",
            }
        ]
    return []


def allocatable_findings(
    nodes: Mapping[str, Mapping[str, Any]], expected: Sequence[Mapping[str, Any]]
) -> list[Finding]:
    """Nodes of which pods cannot ask for as many GPUs as the bus has.

    `nodes` is what Kubernetes says of them by name (`allocatable`), `expected` the node and gpu_count of each host.
    What a node without a GPU offers stands in for some.
    """
    found = []
    for facts in expected:
        node, count = str(facts["node"]), int(facts["gpu_count"])
        offered = int(nodes.get(node, {}).get("allocatable", {}).get("nvidia.com/gpu", 0))
        if count and offered != count:
            found.append(
                {
                    "cause": f"{node}: {count} GPUs are on the PCI bus and pods may ask for {offered} "
                    "(nvidia.com/gpu).",
                    "remedy": "The device plugin on that node offers what the driver shows it; look at its words.",
                    "command": "kubectl --namespace kube-system logs --selector name=nvidia-device-plugin-ds --prefix "
                    "--tail 20",
                }
            )
    return found


def cluster_findings(cluster: Mapping[str, Any], expected: Sequence[Mapping[str, Any]]) -> list[Finding]:
    """What pods could not get, by what the module kubernetes_state says of the cluster; its silence is one finding."""
    if cluster.get("problem"):
        return [
            {
                "cause": f"Kubernetes does not answer: {cluster['problem']}",
                "remedy": "Bring the API server back, by the repairs of Kubernetes or by what its kubelet says.",
                "command": "journalctl -n 30 -u kubelet -u containerd",
            }
        ]
    return allocatable_findings(cluster["nodes"], expected)


def pod_findings(nodes: Mapping[str, Mapping[str, Any]]) -> list[Finding]:
    """Nodes whose pod did not compute, by what the module pods_multiply says of each."""
    return [
        {
            "cause": f"{node}: a pod does not compute on its GPUs: {found['problem']}.",
            "remedy": "Look at what the kernel and the node's containers say of them.",
            "command": "dmesg | grep -iE 'nvrm|xid' | tail -n 20; journalctl -n 30 -u containerd -u kubelet",
        }
        for node, found in sorted(nodes.items())
        if found["problem"]
    ]


def pod_lines(nodes: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What the pod of each node saw, as the end of a run shows it; what does not work comes with its remedy."""
    lines = []
    for node, found in sorted(nodes.items()):
        if found["skipped"]:
            lines.append(f"{node}: no pod multiplied: {found['skipped']}")
        elif not found["problem"] and found["is_simulated"]:
            lines.append(
                f"{node}: a pod had {found['devices']} and multiplied on the CPU (simulated: no GPU is real)"
            )
        elif not found["problem"]:
            uuids = ", ".join(each["uuid"] or each["name"] for each in found["gpus"])
            lines.append(f"{node}: in a pod multiplied as the CPU does: {uuids}")
    return [*lines, *finding_lines(pod_findings(nodes))]


def finding_lines(findings: Sequence[Finding]) -> list[str]:
    """Three lines each, as the end of a run shows them."""
    return [
        line
        for each in findings
        for line in (each["cause"], f"    remedy: {each['remedy']}", f"    {each['command']}")
    ]


def gpu_report(seen: Mapping[str, Any], host: str) -> list[str]:
    """What was seen of one host, as the end of a run shows it."""
    findings = gpu_findings(seen)
    kind = " (simulated: no GPU of this host is real)" if seen["is_simulated"] else ""
    if seen["bus"] == 0 and not seen["offered"] and not findings:
        return [f"{host}: no GPU{port_report(seen)}"]
    if seen["bus"] == 0 and not findings:
        return [f"{host}: {len(seen['offered'])} GPUs are offered to jobs{port_report(seen)}{kind}"]
    if not findings:
        fabric = ", fabric manager of the same version" if seen["needs_fabric_manager"] else ""
        driver = shown_gpus(seen["smi"])[0].split(", ")[1]
        return [
            f"{host}: {seen['bus']} GPUs on the bus, in nvidia-smi and offered to jobs; driver {driver}{fabric}"
            f"{port_report(seen)}{kind}",
            *(f"    {uuid} multiplied as the CPU does" for uuid in seen["multiplied"]),
            *([f"    nothing was multiplied: {seen['skipped']}"] if seen["skipped"] else []),
        ]
    lines = []
    for finding in findings:
        lines += [
            f"{host}: {finding['cause']}{kind}",
            f"    remedy: {finding['remedy']}",
            f"    {finding['command']}",
        ]
    return lines


def port_report(seen: Mapping[str, Any]) -> str:
    names = [each["interface"] for each in seen["fabric_ports"]]
    return f"; InfiniBand active on {', '.join(names)}" if names else ""


def gpu_seen(facts: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """What `hardware_facts` found with asks_drivers, as the functions above want it; `more` comes from elsewhere."""
    none = {"multiplied": [], "multiplied_message": "", "skipped": "", "is_simulated": False}
    return {**none, **facts["drivers"], **more}


class FilterModule:
    """The names under which playbooks call them."""

    def filters(self) -> dict[str, Any]:
        return {
            "gpu_findings": gpu_findings,
            "gpu_report": gpu_report,
            "gpu_seen": gpu_seen,
            "allocatable_findings": allocatable_findings,
            "cluster_findings": cluster_findings,
            "finding_lines": finding_lines,
            "pod_findings": pod_findings,
            "pod_lines": pod_lines,
        }
