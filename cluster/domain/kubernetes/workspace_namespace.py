"""A workspace as Kubernetes has it: its units, and whether new pods are admitted."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from zoneinfo import ZoneInfo

from cluster.domain.states import WorkspaceState
from cluster.domain.workspace_terms import HasTerm, workspace_state

GPU_RESOURCE = "nvidia.com/gpu"
"""The resource that stands for a GPU. NVIDIA's device plugin offers it."""


class HasTermAndUnits(HasTerm, Protocol):
    @property
    def id(self) -> int: ...

    @property
    def name(self) -> str: ...

    @property
    def units(self) -> int: ...


@dataclass(frozen=True)
class WorkspaceNamespace:
    """`units` is 0 before and after the term. Nothing new is admitted then, and existing pods stay."""

    workspace: int
    name: str
    units: int
    is_open: bool


def workspace_namespace_of(workspace: HasTermAndUnits, now: datetime, zone: ZoneInfo) -> WorkspaceNamespace:
    is_open = workspace_state(workspace, now, zone) is WorkspaceState.ACTIVE
    return WorkspaceNamespace(workspace.id, workspace.name, workspace.units if is_open else 0, is_open)
