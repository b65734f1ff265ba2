"""Repairs of Kubernetes on three hosts: asked for by clicks, broken for real, seen red, and green on the open page."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest
from playwright.sync_api import Browser

from tests.browser.repair_pages import pages_of_repairs
from tests.hosts.appliance.repair_scenarios import Break, Mender, make_token, write_down
from tests.hosts.kube.conftest import ADMINISTRATOR, Cluster
from tests.hosts.kube.scenarios.faults import EXPIRE

pytestmark = pytest.mark.long
DAMAGE_ETCD = (
    "/opt/groundcrew/kubernetes/etcd-snapshot; "
    "dd if=/dev/urandom of=/var/lib/etcd/member/snap/db bs=4096 seek=2 count=200 conv=notrunc; "
    "/opt/groundcrew/kubernetes/stop-control-plane"
)

DAMAGE_JOURNAL = (
    "/opt/groundcrew/kubernetes/etcd-snapshot; "
    "dd if=/dev/urandom of=$(ls /var/lib/etcd/member/wal/*.wal | tail -n 1) bs=512 seek=1 count=8 conv=notrunc; "
    "/opt/groundcrew/kubernetes/stop-control-plane"
)
"""Every page of its database can be read, and no etcd comes up on it."""
ADDONS = "mpi-operator kueue-system kube-flannel"
DELETE_ADDONS = (
    f"{ADMINISTRATOR} delete namespace {ADDONS} --wait=false; "
    f"{ADMINISTRATOR} --namespace kueue-system wait --for=delete deployment/kueue-controller-manager --timeout=120s; "
    "/opt/groundcrew/kubernetes/stop-control-plane; "
    f"timeout 300 sh -c 'until {ADMINISTRATOR} get --raw /readyz; do sleep 1; done'"
)
"""An API server that started after Kueue was gone can list no queue: nobody answers for what is written of them."""


@dataclass(frozen=True)
class On:
    """Which host is broken, and how."""

    host: str
    broken: Break


BREAKS = [
    On(
        "w1",
        Break(
            "restart-kubelet",
            "the kubelet's settings deleted",
            "rm /var/lib/kubelet/config.yaml; systemctl restart kubelet",
        ),
    ),
    On(
        "w2",
        Break(
            "reconnect-kubernetes-node",
            "/etc/cni wiped",
            "rm -rf /etc/cni/net.d/*; systemctl restart containerd",
        ),
    ),
    On(
        "w1",
        Break("reinitialise-kubernetes-worker", "kubeadm reset by hand", "kubeadm reset --force", typed=True),
    ),
    On("m", Break("renew-kubernetes-certificates", "the API server's certificate expired", EXPIRE)),
    On(
        "m",
        Break(
            "reinitialise-kubernetes-master",
            "the API server's manifest moved away",
            "mv /etc/kubernetes/manifests/kube-apiserver.yaml /root/",
            typed=True,
        ),
    ),
    On(
        "m",
        Break(
            "reinitialise-kubernetes-master", "etcd's data damaged after a snapshot", DAMAGE_ETCD, typed=True
        ),
    ),
    On(
        "m",
        Break(
            "reinitialise-kubernetes-master",
            "etcd's journal damaged after a snapshot",
            DAMAGE_JOURNAL,
            typed=True,
        ),
    ),
    On(
        "m",
        Break(
            "restart-kubelet",
            "the master's kubelet disabled, its settings deleted and the control plane ended",
            "systemctl disable --now kubelet; rm /var/lib/kubelet/config.yaml; "
            "/opt/groundcrew/kubernetes/stop-control-plane",
        ),
    ),
    On(
        "m",
        Break(
            "reinitialise-kubernetes-addons",
            "the namespaces of the add-ons deleted",
            DELETE_ADDONS,
        ),
    ),
    On(
        "m",
        Break(
            "restore-default-images",
            "what the registry holds deleted",
            "rm -rf /var/lib/groundcrew/registry/docker/registry/v2/blobs",
        ),
    ),
]


def name_of(on: On) -> str:
    return f"{on.broken.repair}: {on.broken.words}"


@pytest.fixture(scope="module")
def mender(installed: Cluster, browser: Browser) -> Iterator[Mender]:
    mender = Mender(installed.master, make_token(installed.master))
    with pages_of_repairs(browser, mender.url) as pages:
        yield replace(mender, pages=pages)


@pytest.mark.parametrize("on", BREAKS, ids=name_of)
def test_a_broken_cluster_is_seen_red_and_mended(installed: Cluster, mender: Mender, on: On) -> None:
    mended = mender.mend(on.broken, on=installed.bed.hosts[on.host], within=1800)
    write_down(on.broken, mended)
    assert mended.was_red, mended.before
    assert mended.verdict == "verified", (mended.checks, mended.tasks)
