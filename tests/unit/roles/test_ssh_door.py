"""The SSH door is installed where jobs are processes, with the rights that a session needs and those of no service."""

from typing import Any

import pytest

from cluster.store.sql.roles import DatabaseRoles
from tests.unit.roles.rendering import render, value_of


@pytest.mark.parametrize(
    ("known", "is_wanted"),
    [
        ({"groundcrew_executor": "process"}, True),
        ({"groundcrew_executor": "process", "groundcrew_ssh_port": 0}, False),
        ({"groundcrew_executor": "process", "groundcrew_ssh_port": "0"}, False),
        ({"groundcrew_executor": "kubernetes"}, False),
    ],
)
def test_there_is_a_door_where_jobs_are_processes(known: dict[str, Any], is_wanted: bool) -> None:
    assert value_of("ssh_door", "ssh_door_is_wanted", **known) is is_wanted


def test_the_unit_keeps_no_right_over_time_modules_and_devices() -> None:
    unit = render("ssh_door", "groundcrew-ssh.service")
    (capabilities,) = [line for line in unit.splitlines() if line.startswith("CapabilityBoundingSet=")]
    assert "CAP_SYS_ADMIN" in capabilities
    for name in (
        "CAP_SYS_MODULE",
        "CAP_SYS_TIME",
        "CAP_NET_ADMIN",
        "CAP_SYS_RAWIO",
        "CAP_SYS_BOOT",
        "CAP_MKNOD",
    ):
        assert name not in capabilities
    assert "MemoryDenyWriteExecute" not in unit, (
        "sessions would inherit it, and libraries of trainings need it"
    )


def test_the_door_speaks_to_the_database_by_its_own_role() -> None:
    settings = render("ssh_door", "ssh.env")
    assert f"//{DatabaseRoles('groundcrew').door}@/" in settings
    assert value_of("postgresql", "postgresql_door") == DatabaseRoles("groundcrew").door
    for secret in ("AUDIT_KEY", "CREDENTIAL_KEY"):
        assert secret not in settings
