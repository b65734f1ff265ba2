"""The scheduler's role takes away exactly what a job's shim has made, and says to whom the scheduler may speak."""

import socket
from pathlib import Path

import yaml

from cluster.domain.jobs.unix_ids import LARGEST_ROW_ID
from tests.unit.roles.rendering import render
from worker.inside import shim_cloud_metadata

ROLE = Path(__file__).parents[3] / "roles" / "scheduler"
UID_BASE = 100_000


def test_uninstalling_deletes_the_rules_that_shims_make() -> None:
    known = yaml.safe_load((ROLE / "vars" / "main.yml").read_text())
    families = {-4: socket.AF_INET, -6: socket.AF_INET6}
    lengths = {-4: 32, -6: 128}
    told = []
    for each in known["scheduler_closed_addresses"]:
        network, _, length = each["network"].partition("/")
        told.append((families[each["family"]], network, int(length or lengths[each["family"]])))
    assert tuple(told) == shim_cloud_metadata.NETWORKS
    assert known["scheduler_job_uids"] == f"{UID_BASE + 1}-{UID_BASE + LARGEST_ROW_ID}"
    priorities = [int(rule[-1]) for rule in known["scheduler_closing_rules"]]
    assert priorities == [shim_cloud_metadata.PRIORITY - 1, shim_cloud_metadata.PRIORITY]


def allowed(**more: object) -> list[str]:
    unit = render("scheduler", "groundcrew-scheduler.service", groundcrew_address="10.0.0.10", **more)
    lines = [line for line in unit.splitlines() if line.startswith("IPAddressAllow=")]
    return [address for line in lines for address in line.partition("=")[2].split()]


def test_the_scheduler_reaches_the_api_server_and_notebooks_in_pods_and_nobody_else() -> None:
    """The packet filter sees a notebook's service, and behind it the pod."""
    of_kubernetes = yaml.safe_load((ROLE.parent / "kubernetes" / "defaults" / "main.yml").read_text())
    networks = [of_kubernetes["kubernetes_service_network"], of_kubernetes["kubernetes_pod_network"]]
    assert allowed(groundcrew_executor="kubernetes") == ["localhost", "10.0.0.10", *networks]
    other = {"kubernetes_service_network": "10.97.0.0/16", "kubernetes_pod_network": "10.245.0.0/16"}
    assert allowed(groundcrew_executor="kubernetes", **other)[2:] == list(other.values())
    assert allowed(groundcrew_executor="process") == []
