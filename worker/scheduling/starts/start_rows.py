"""Reads the rows of which the start plans of placed attempts are made, for many attempts at once."""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import bindparam, select
from sqlalchemy.orm import joinedload, selectinload

from cluster.domain.nodes import node_networks
from cluster.domain.states import JobKind, UnitKind
from cluster.services.context import Cluster
from cluster.services.images.start_environments import (
    StartEnvironment,
    read_container_images,
    read_image_rows,
    read_start_environments,
)
from cluster.services.notebooks import editor_environment, notebook_rows
from cluster.settings import Settings
from cluster.store.jobs import Attempt, Job
from cluster.store.nodes import Allocation, Node, Unit

ATTEMPTS_TO_START = (
    select(Attempt)
    .where(Attempt.id.in_(bindparam("ids", expanding=True)))
    .options(
        joinedload(Attempt.job).joinedload(Job.training),
        joinedload(Attempt.job).joinedload(Job.dataset),
        joinedload(Attempt.node).selectinload(Node.units),
        selectinload(Attempt.allocations).joinedload(Allocation.unit).joinedload(Unit.node),
    )
)
"""The statement is built once, because it is executed for every job."""


@dataclass(frozen=True)
class StartRows:
    """Attempts by id with all that their plans are made of."""

    attempts: Mapping[int, Attempt]
    environments: Mapping[int | None, StartEnvironment]
    """Environment id that a job has chosen → that environment; None → the default one."""
    images: Mapping[UnitKind, str] = field(default_factory=dict)
    """Kind of unit → the image from which containers are made; empty if there is none."""
    image_rows: Mapping[str, int] = field(default_factory=dict)
    """Reference → id, of the images that are environments."""
    editor: Path | None = None
    """The environment that has JupyterLab; None while it is not ready."""
    notebook_tokens: Mapping[int, str] = field(default_factory=dict)
    """Job id → the token, for each notebook among the jobs."""

    def environment_of(self, attempt_id: int) -> StartEnvironment:
        return self.environments[self.attempts[attempt_id].job.environment_id]

    def image_of(self, attempt_id: int) -> str | None:
        image = self.environment_of(attempt_id).image
        return image or self.images.get(allocated_kind(self.attempts[attempt_id])) or None

    def environment_id_of(self, attempt_id: int) -> int | None:
        """Returns the id of the environment that the attempt records as the one in which it ran."""
        return self.environment_of(attempt_id).id or self.image_rows.get(self.image_of(attempt_id) or "")


def read_start_rows(cluster: Cluster, attempt_ids: Collection[int]) -> StartRows:
    """Reads the rows in the same number of statements for any number of attempts."""
    with cluster.store.read() as session:
        found = session.scalars(ATTEMPTS_TO_START, {"ids": list(attempt_ids)})
        attempts = {attempt.id: attempt for attempt in found}
        chosen = {attempt.job.environment_id for attempt in attempts.values()}
        known = read_start_environments(cluster, session, chosen)
        images = read_container_images(cluster.settings, session)
        image_rows = read_image_rows(cluster.settings, session)
        notebooks = [each.job_id for each in attempts.values() if each.job.kind is JobKind.NOTEBOOK]
        if not notebooks:
            return StartRows(attempts, known, images, image_rows)
        editor, tokens = (
            editor_environment.load_editor(session),
            notebook_rows.load_tokens(session, notebooks),
        )
        return StartRows(attempts, known, images, image_rows, editor, tokens)


def allocated_units(attempt: Attempt) -> list[Unit]:
    return [allocation.unit for allocation in attempt.allocations]


def allocated_kind(attempt: Attempt) -> UnitKind:
    units = allocated_units(attempt)
    return units[0].kind if units else UnitKind.CPU_SLOT


def allocated_gpus(attempt: Attempt) -> tuple[str, ...]:
    """The UUIDs of the attempt's GPUs."""
    return tuple(unit.identity for unit in allocated_units(attempt) if unit.kind is UnitKind.GPU)


def node_names(attempt: Attempt) -> tuple[str, ...]:
    """The names of the nodes, each once, the one with the launcher first."""
    names = [unit.node.name for unit in allocated_units(attempt)]
    return tuple(dict.fromkeys([attempt.node.name, *names]))


def units_by_node(attempt: Attempt) -> tuple[tuple[str, int], ...]:
    """Returns the units in the order of `node_names`."""
    counts = Counter(unit.node.name for unit in allocated_units(attempt))
    return tuple((name, counts[name]) for name in node_names(attempt) if counts[name])


def job_interfaces(settings: Settings, attempt: Attempt) -> tuple[str, ...]:
    """Returns the interfaces over which the ranks of the attempt meet."""
    facts = {unit.node.name: unit.node.facts for unit in allocated_units(attempt)}
    shares_host_network = settings.executor.capabilities.shares_host_network
    return node_networks.rank_interfaces([*facts.values()], shares_host_network)


def job_network_variables(settings: Settings, attempt: Attempt) -> dict[str, str]:
    """The variables for several ranks on the network of their host. In pods the program that starts the gang sets
    them.
    """
    if attempt.job.units < 2 or not settings.executor.capabilities.shares_host_network:
        return {}
    return node_networks.network_variables(job_interfaces(settings, attempt))
