"""Evaluate the checks of a Kubernetes cluster from the facts that were read on its hosts."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from cluster.domain.repairs.check_results import CheckFacts, CheckResult, passed_on_hosts
from cluster.domain.repairs.definition import RepairCheck


def control_plane_answers(check: RepairCheck, facts: CheckFacts, since: datetime) -> CheckResult:
    """API server and etcd of every probed host must answer."""
    for host, seen in (facts.hosts or {}).items():
        if seen is None:
            return CheckResult(False, "check.host.silent", {"host": host})
        if kubernetes_facts_of(seen)["etcd"] != 200:
            return CheckResult(False, "check.control_plane_answers.etcd", {"host": host})
        if kubernetes_facts_of(seen)["api"] != 200:
            return CheckResult(False, "check.control_plane_answers.not", {"host": host})
    return passed_on_hosts(facts, "check.control_plane_answers.ok", {})


def control_certificates_last(check: RepairCheck, facts: CheckFacts, since: datetime) -> CheckResult:
    """`days` is how much longer every certificate on the hosts has to be valid."""
    for host, seen in (facts.hosts or {}).items():
        if seen is None:
            return CheckResult(False, "check.host.silent", {"host": host})
        left = kubernetes_facts_of(seen)["certificates"]
        ending = sorted((days, name) for name, days in left.items() if days < int(check.options["days"]))
        if ending or not left:
            days, name = ending[0] if ending else (0, "")
            data = {"host": host, "name": name, "days": int(days // 1)}
            return CheckResult(False, "check.control_certificates_last.not", data)
    days = int(check.options["days"])
    return passed_on_hosts(facts, "check.control_certificates_last.ok", {"days": days})


def workloads_ready(check: RepairCheck, facts: CheckFacts, since: datetime) -> CheckResult:
    """`workloads` are namespace/name. Each has to exist with all its pods ready."""
    names = [str(name) for name in check.options["workloads"]]
    for host, seen in (facts.hosts or {}).items():
        if seen is None:
            return CheckResult(False, "check.host.silent", {"host": host})
        if kubernetes_facts_of(seen)["problem"]:
            return CheckResult(False, "check.control_plane_answers.not", {"host": host})
        counts = kubernetes_facts_of(seen)["workloads"]
        lacking = [name for name in names if not has_all_pods(counts.get(name, (0, 1)))]
        if lacking:
            return CheckResult(False, "check.workloads_ready.not", {"names": lacking})
    return passed_on_hosts(facts, "check.workloads_ready.ok", {"names": names})


def has_all_pods(count: tuple[int, int]) -> bool:
    ready, wanted = count
    return ready >= wanted


def node_ready(check: RepairCheck, facts: CheckFacts, since: datetime) -> CheckResult:
    """The host's node must be ready and take pods, as the cluster reports to the host itself."""
    for host, seen in (facts.hosts or {}).items():
        if seen is None:
            return CheckResult(False, "check.host.silent", {"host": host})
        node = kubernetes_facts_of(seen)["node"]
        if not node["is_ready"] or not node["is_open"]:
            reason = node["reason"] or kubernetes_facts_of(seen)["problem"]
            return CheckResult(False, "check.node_ready.not", {"host": host, "reason": reason})
    return passed_on_hosts(facts, "check.node_ready.ok", {"names": list(facts.hosts or {})})


def pods_networked(check: RepairCheck, facts: CheckFacts, since: datetime) -> CheckResult:
    """Whether a pod that starts on the host gets an address of the host's range."""
    for host, seen in (facts.hosts or {}).items():
        if seen is None:
            return CheckResult(False, "check.host.silent", {"host": host})
        if problem := kubernetes_facts_of(seen)["network"]:
            code = "check.pods_networked.none" if problem == "none" else "check.pods_networked.other"
            return CheckResult(False, code, {"host": host})
    return passed_on_hosts(facts, "check.pods_networked.ok", {})


def kubernetes_facts_of(seen: Mapping[str, Any]) -> Mapping[str, Any]:
    """The state that the module kubernetes_state has read on the host."""
    found: Mapping[str, Any] = seen["kubernetes"]
    return found
