"""The kinds of executors, and what each of them can do and needs."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType


@dataclass(frozen=True)
class ExecutorCapabilities:
    """The properties of an executor on which services and start plans depend."""

    spreads_over_nodes: bool
    """Whether one job may have units on several nodes."""
    is_local: bool
    """Whether jobs run on the scheduler's machine, which then chooses their GPUs and limits their processes. Else the
    nodes do.
    """
    needs_image: bool
    """Whether jobs run in containers."""
    has_environment_in_image: bool
    """Whether jobs use the training environment of their image instead of that of the scheduler's machine."""
    sandboxes_files: bool
    """Whether the shim itself has to hide the installation's files from the program."""
    shares_host_network: bool
    """Whether a program has the interfaces of its node, and not a network of its own."""
    is_simulated: bool
    """Whether no real program runs."""


class ExecutorKind(StrEnum):
    PROCESS = "process"
    DOCKER = "docker"
    KUBERNETES = "kubernetes"
    SIMULATED = "simulated"

    @property
    def capabilities(self) -> ExecutorCapabilities:
        return CAPABILITIES[self]


CAPABILITIES: Mapping[ExecutorKind, ExecutorCapabilities] = MappingProxyType(
    {
        ExecutorKind.PROCESS: ExecutorCapabilities(
            spreads_over_nodes=False,
            is_local=True,
            needs_image=False,
            has_environment_in_image=False,
            sandboxes_files=True,
            shares_host_network=True,
            is_simulated=False,
        ),
        ExecutorKind.DOCKER: ExecutorCapabilities(
            spreads_over_nodes=False,
            is_local=True,
            needs_image=True,
            has_environment_in_image=False,
            sandboxes_files=False,
            shares_host_network=False,
            is_simulated=False,
        ),
        ExecutorKind.KUBERNETES: ExecutorCapabilities(
            spreads_over_nodes=True,
            is_local=False,
            needs_image=True,
            has_environment_in_image=True,
            sandboxes_files=False,
            shares_host_network=False,
            is_simulated=False,
        ),
        ExecutorKind.SIMULATED: ExecutorCapabilities(
            spreads_over_nodes=True,
            is_local=True,
            needs_image=False,
            has_environment_in_image=False,
            sandboxes_files=False,
            shares_host_network=False,
            is_simulated=True,
        ),
    }
)
