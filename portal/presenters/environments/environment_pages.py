"""The values of the list of environments and of the page of one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cluster.domain.environments.choices import OLDEST_PYTHON, is_too_old
from cluster.domain.people.actor import Actor
from cluster.domain.states import EnvironmentSource, EnvironmentState
from cluster.services.context import Cluster
from cluster.services.images.default_images import find_image_of
from cluster.services.images.environment_list import read_scopes
from cluster.services.images.environment_scope import can_change
from cluster.services.images.gpu_support import support_of
from cluster.services.workspaces import queries
from cluster.store.environments import Environment
from cluster.store.workspaces import Workspace
from portal.presenters.environments.environment_choice import main_libraries
from portal.presenters.operation_steps import OPEN_STATES, operation_steps


@dataclass(frozen=True)
class EnvironmentRow:
    """A line of the list."""

    id: int
    name: str
    digest: str
    state: str
    source: str
    libraries: str
    python: str
    is_too_old: bool
    gpu_support: str
    size_bytes: int | None
    scope: tuple[str, ...]
    """The names of its workspaces, as far as the person may see them; empty: global."""


def environment_row(row: Environment, scope: Sequence[Workspace]) -> EnvironmentRow:
    return EnvironmentRow(
        row.id,
        row.name,
        short_digest(row.digest),
        row.state.value,
        row.source,
        ", ".join(main_libraries(row)) if row.state is EnvironmentState.READY else "",
        row.python,
        is_too_old(row.python),
        support_of(row).value,
        row.size_bytes,
        tuple(workspace.name for workspace in scope),
    )


def short_digest(digest: str) -> str:
    return digest.removeprefix("sha256:")[:12]


@dataclass(frozen=True)
class EnvironmentPage:
    """The values of one environment's page that its row does not hold."""

    digest: str
    python: str
    """The version of Python; empty while it is unknown."""
    gpu_support: str
    is_too_old: bool
    least_python: str
    is_own: bool
    """Whether a person has added the environment, so that it can be changed and deleted."""
    may_change: bool
    is_unapproved: bool
    """Whether the environment waits for the approval of a manager."""
    is_being_built: bool
    steps: Sequence[object]
    gpu_code: Mapping[str, Mapping[str, str]]
    """How each library serves each compute capability; empty if nothing is recorded."""
    scope: Sequence[Workspace]


def environment_page(cluster: Cluster, actor: Actor, row: Environment) -> EnvironmentPage:
    is_own = row.source not in (EnvironmentSource.DEFAULT, EnvironmentSource.IMAGE)
    image = find_image_of(cluster, row) if row.source == EnvironmentSource.IMAGE else None
    return EnvironmentPage(
        short_digest(row.digest),
        row.python or next((version for library, version, *_ in row.contents if library == "python"), ""),
        support_of(row).value,
        is_too_old(row.python),
        ".".join(map(str, OLDEST_PYTHON)),
        is_own,
        is_own and row.deleted_at is None and can_change(actor, row),
        row.state is EnvironmentState.UNAPPROVED and row.deleted_at is None,
        row.operation is not None and row.operation.state in OPEN_STATES,
        operation_steps(row.operation) if row.operation else [],
        image.gpu_code if image else {},
        read_scopes(cluster, actor, [row])[row.id],
    )


def offered_workspaces(cluster: Cluster, actor: Actor) -> list[Workspace]:
    """Lists the workspaces for which this person may add environments."""
    found = queries.list_workspaces(cluster, actor)
    return [one for one in found if actor.is_administrator or one.manager_id == actor.user_id]


def can_add(cluster: Cluster, actor: Actor) -> bool:
    if cluster.settings.executor.capabilities.has_environment_in_image:
        return False
    return actor.is_administrator or bool(offered_workspaces(cluster, actor))


def can_build_sources(cluster: Cluster) -> bool:
    """Build scripts may run only if the services have no user of their own, whose rights the scripts would have."""
    return not cluster.settings.service_user
