"""The state of the installation's SSH door: its process writes it, and pages show it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cluster.domain.people.ssh_keys import parse_public_key
from cluster.services.context import Cluster
from cluster.settings import Settings
from cluster.store.facts import InstallationFact, read_fact

DOOR_FACT = "ssh_door"


@dataclass(frozen=True)
class SshDoorState:
    """An open door has no reason; a closed one has the code of the sentence that says why."""

    is_open: bool
    port: int = 0
    host_key: str = ""
    """The public half of the door's host key, `ssh-ed25519 AAAA…`."""
    reason: str | None = None
    data: Mapping[str, Any] = field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        """`SHA256:…` of the host key, as ssh shows it at the first connection; empty for a closed door."""
        return parse_public_key(self.host_key).fingerprint if self.host_key else ""


CLOSED_WITHOUT_PROCESS = SshDoorState(False, reason="ssh_door.not_running")


def record_door_state(cluster: Cluster, state: SshDoorState) -> None:
    value = {
        "is_open": state.is_open,
        "port": state.port,
        "host_key": state.host_key,
        "reason": state.reason,
        "data": dict(state.data),
    }
    with cluster.store.write() as session:
        session.merge(InstallationFact(name=DOOR_FACT, value=value))


def read_door_state(cluster: Cluster) -> SshDoorState:
    """Reads the state that the door's process has written. If no process can open one, the settings say why."""
    if reason := reason_against_door(cluster.settings):
        return reason
    with cluster.store.read() as session:
        return read_fact(session, DOOR_FACT, parse_door_state) or CLOSED_WITHOUT_PROCESS


def reason_against_door(settings: Settings) -> SshDoorState | None:
    """The state of a closed door, if this installation cannot or should not have an open one."""
    if settings.ssh_port == 0:
        return SshDoorState(False, reason="ssh_door.switched_off")
    if not settings.executor.capabilities.sandboxes_files:
        return SshDoorState(False, reason="ssh_door.executor", data={"executor": settings.executor.value})
    return None


def parse_door_state(value: Mapping[str, Any]) -> SshDoorState:
    return SshDoorState(
        bool(value["is_open"]), int(value["port"]), str(value["host_key"]), value["reason"], value["data"]
    )
