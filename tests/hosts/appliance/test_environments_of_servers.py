"""Environments of an installed host: asked for over REST, built by the task worker of images in its own unit, run by
the user of a job, and deleted by the general one.

The packages are the wheels that the host was lent, as a site without an index has them in a folder.
"""

import os
from collections.abc import Iterator
from typing import Any

import pytest

from tests.hosts.appliance.repair_scenarios import Mender, ask_rows
from tests.hosts.appliance.test_repairs import host as host
from tests.hosts.appliance.test_repairs import mender as mender
from tests.hosts.machines.testbed import Host

FOLDER = "/var/lib/groundcrew/environments"
SETTINGS = "/etc/groundcrew/groundcrew.env"
TAKE_LENT_WHEELS = f"""set -e; cp {SETTINGS} /root/index.env
wheels=$(dirname $(ls /var/cache/groundcrew-services/wheels-*/psutil-*.whl | head -n 1))
sed -i "s|^GROUNDCREW_PACKAGE_INDEX=.*|GROUNDCREW_PACKAGE_INDEX=none|
s|^GROUNDCREW_PACKAGE_FOLDER=.*|GROUNDCREW_PACKAGE_FOLDER=$wheels|" {SETTINGS}
systemctl restart groundcrew-worker@images"""
PUT_BACK = f"mv /root/index.env {SETTINGS}; systemctl restart groundcrew-worker@images"
AS_A_JOB = "setpriv --reuid 100001 --regid 100001 --clear-groups --no-new-privs"
BUILT_WITHIN = 180
"""Seconds."""


@pytest.fixture(scope="module")
def asked(mender: Mender) -> Iterator[dict[str, Any]]:
    """The environment as REST describes it once its build has ended, well or not."""
    host = mender.host
    host.ask(TAKE_LENT_WHEELS)
    try:
        order = {"name": f"watched-{os.urandom(3).hex()}", "requirements": "psutil\nidna\n"}
        number = mender.call("POST", "environments", order)["id"]
        ended = f"{ask_rows(f'select state from environments where id = {number}')} | grep -xE 'ready|failed'"
        host.wait_until(ended, BUILT_WITHIN)
        yield mender.call("GET", f"environments/{number}")
    finally:
        host.ask(PUT_BACK)


def place_of(environment: dict[str, Any]) -> str:
    return f"{FOLDER}/{environment['id']}"


def test_the_task_worker_builds_an_environment_in_its_unit(
    asked: dict[str, Any], mender: Mender, host: Host
) -> None:
    log = f"/var/lib/groundcrew/log/operation-{asked['operation_id']}.log"
    assert asked["state"] == "ready", (asked["error"], host.run(f"tail -n 40 {log}").stdout)
    assert {"psutil", "idna"} <= {part["library"] for part in asked["contents"]}
    assert host.ask(f"stat -c '%U %a' {place_of(asked)}") == "groundcrew 755"
    assert host.ask(f"ls {FOLDER}").split() == [str(asked["id"])], "the folder of the build is gone"
    unit = "systemctl show groundcrew-worker@images -P User -P ProtectSystem -P NoNewPrivileges"
    assert host.ask(unit).split() == ["groundcrew", "strict", "yes"]


def test_the_user_of_a_job_runs_it_and_writes_nothing_into_it(asked: dict[str, Any], host: Host) -> None:
    python = f"{AS_A_JOB} {place_of(asked)}/bin/python -B -c"
    assert host.ask(f"{python} 'import idna, psutil; print(psutil.Process().uids().real)'") == "100001"
    assert host.run(f"{AS_A_JOB} touch {place_of(asked)}/lib/mine").stdout.count("Permission denied") == 1


def test_a_deleted_environment_leaves_no_file(asked: dict[str, Any], mender: Mender, host: Host) -> None:
    mender.call("DELETE", f"environments/{asked['id']}")
    host.wait_until(f"! test -e {place_of(asked)}")
