"""The field by which a form chooses an environment. Each option names the main libraries."""

from collections.abc import Sequence
from dataclasses import dataclass

from cluster.domain.environments.choices import DEFAULT_NAME
from cluster.domain.jobs.gpu_support import GpuSupport
from cluster.domain.jobs.submission import DEFAULT_ENVIRONMENT_ID
from cluster.domain.states import EnvironmentState
from cluster.services.context import Cluster
from cluster.services.images.environment_choice import list_choices, read_chosen
from cluster.services.images.environments import read_default_environment
from cluster.services.images.gpu_support import support_of
from cluster.store.environments import Environment
from portal.i18n.messages import localized_word
from portal.i18n.translate import _

NAMED_PURPOSES = ("purpose.framework", "purpose.several_ranks")
"""The libraries by which people tell environments apart."""
MAX_NAMED = 4


@dataclass(frozen=True)
class EnvironmentOptions:
    """The options of the field as (value, text), and the rows of all environments except the default one."""

    options: Sequence[tuple[str, str]]
    environments: Sequence[Environment]


def environment_options(cluster: Cluster, workspace_id: int, chosen: object) -> EnvironmentOptions:
    """Returns the options of the field. A `chosen` environment that was deleted is one of them, so that the submission
    refuses it by name instead of taking another one.
    """
    rows = list_choices(cluster, workspace_id)
    options = [(str(DEFAULT_ENVIRONMENT_ID), default_option(cluster))]
    options += [
        (str(row.id), f"{row.name} · {summary}" if (summary := summarise(row)) else row.name) for row in rows
    ]
    key = str(chosen or "")
    if key.isascii() and key.isdigit() and len(key) < 10 and key not in dict(options):
        gone = read_chosen(cluster, int(key))
        options.append((key, _("%(name)s (cannot be chosen any more)", name=gone.name if gone else key)))
    return EnvironmentOptions(options, rows)


def default_option(cluster: Cluster) -> str:
    if cluster.settings.executor.capabilities.has_environment_in_image:
        return _("the site's default image")
    row = read_default_environment(cluster)
    summary = summarise(row) if row else ""
    return f"{DEFAULT_NAME} · {summary}" if summary else DEFAULT_NAME


def summarise(environment: Environment) -> str:
    """Returns one line as "Python 3.11, torch 2.7.1, computes on GPUs"."""
    if environment.state is not EnvironmentState.READY:
        return localized_word("state.environment", environment.state.value)
    support = support_of(environment)
    computes = [localized_word("gpu_support", support.value)] if support is not GpuSupport.UNKNOWN else []
    return ", ".join([*main_libraries(environment), *computes])


def main_libraries(environment: Environment) -> list[str]:
    """Python and the frameworks, each with its version."""
    versions = {str(library): str(version) for library, version, *_ in environment.contents}
    python = [f"Python {short(versions['python'])}"] if "python" in versions else []
    return (
        python
        + [
            f"{library} {version}"
            for library, version, purpose in environment.contents
            if purpose in NAMED_PURPOSES
        ][:MAX_NAMED]
    )


def short(version: str) -> str:
    return ".".join(version.split(".")[:2])
