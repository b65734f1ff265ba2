"""The scheduler's role takes away exactly what a job's shim has made."""

import socket
from pathlib import Path

import yaml

from cluster.domain.jobs.unix_ids import LARGEST_ROW_ID
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
