"""Kubernetes taken off hosts again: off one of them, which joins anew, and in the end off all."""

from collections.abc import Sequence

import pytest

from tests.hosts.kube.conftest import Cluster
from tests.hosts.machines.testbed import Host

pytestmark = pytest.mark.long
UNINSTALL = "ansible/playbooks/uninstall.yml"
PLACES = (
    *("/etc/kubernetes", "/var/lib/kubelet", "/var/lib/etcd", "/etc/cni/net.d/10-flannel.conflist"),
    *("/etc/groundcrew/kubernetes", "/opt/groundcrew/kubernetes", "/run/flannel", "/var/lib/cni"),
    *("/run/groundcrew-closed-pods", "/usr/lib/cni/groundcrew-closed-pods"),
    *("/etc/systemd/system/groundcrew-pod-ports.service", "/etc/sysctl.d/61-groundcrew-kubernetes.conf"),
    *("/sys/class/net/cni0", "/sys/class/net/flannel.1"),
)
RULES = "iptables-save 2>/dev/null | grep -cE 'KUBE-|FLANNEL-'"
TABLES = "nft list tables 2>/dev/null | grep -cE 'kube|flannel|groundcrew'"
PROCESSES = "ps -eo comm | grep -cE '^(kube|etcd|flanneld|coredns|containerd-shim)'"
HELD = "apt-mark showhold | grep -c kube"


def left_on(host: Host) -> Sequence[str]:
    """What a host has of Kubernetes: folders, interfaces, rules, processes, held packages."""
    found = host.ask(f"ls -d {' '.join(PLACES)} 2>/dev/null || true").splitlines()
    counts = host.ask(f"{{ {RULES}; {TABLES}; {PROCESSES}; {HELD}; }} || true").split()
    route = host.ask("ip route show 10.96.0.0/16")
    return [
        *found,
        *(name for name, count in zip(COUNTED, counts, strict=True) if count != "0"),
        *route.splitlines(),
    ]


COUNTED = ("rules of iptables", "tables of nft", "processes", "held packages")


def test_a_host_that_is_taken_off_keeps_nothing_and_joins_anew(installed: Cluster) -> None:
    host = installed.bed.hosts["w2"]
    installed.play("--limit", host.name, playbook=UNINSTALL).must_succeed()
    assert left_on(host) == []
    assert installed.kubectl(f"get node {host.name} --ignore-not-found") == ""
    installed.play().must_succeed()
    for each in installed.hosts:
        installed.wait(f"wait --for=condition=Ready node/{each.name} --timeout=5s")


def test_all_hosts_are_taken_off_and_keep_nothing(installed: Cluster) -> None:
    installed.play("-e", "uninstall_data=delete", playbook=UNINSTALL).must_succeed()
    assert {host.name: left_on(host) for host in installed.hosts} == {
        host.name: [] for host in installed.hosts
    }
    assert [host.has_failed_units() for host in installed.hosts] == [""] * len(installed.hosts)
