"""Servers have systemd; what `make up` runs on one machine has a process manager of its own."""

from dataclasses import fields, replace
from pathlib import Path

import pytest

from cluster.domain.installation import InstallationCapabilities, InstallationKind
from cluster.settings import Settings


@pytest.mark.parametrize(
    ("launcher", "kind"),
    [("systemd", InstallationKind.SERVERS), ("detached", InstallationKind.EMBEDDED)],
)
def test_how_shims_start_says_which_kind_of_installation_this_is(
    launcher: str, kind: InstallationKind
) -> None:
    settings = replace(Settings(Path("/"), Path("/"), "", "", ""), launcher=launcher)
    assert settings.installation_kind is kind
    assert kind.capabilities.has_systemd is (launcher == "systemd")


@pytest.mark.parametrize("capability", [each.name for each in fields(InstallationCapabilities)])
def test_each_capability_tells_the_kinds_apart(capability: str) -> None:
    kinds = (InstallationKind.SERVERS, InstallationKind.EMBEDDED)
    assert len({getattr(kind.capabilities, capability) for kind in kinds}) == 2


def test_no_installation_is_a_cluster_alone() -> None:
    with pytest.raises(KeyError):
        _ = InstallationKind.KUBERNETES.capabilities
