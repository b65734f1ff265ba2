"""The choices of the form for own code: its versions, the files of one of them, and the launchers."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from cluster.domain.jobs.scripts import default_script, list_scripts
from cluster.domain.states import CodeState, Launcher
from cluster.services import code_versions, trainings
from cluster.services.context import Cluster
from cluster.services.images.libraries import TORCH, list_libraries, read_torch_is_missing
from cluster.store.environments import Environment
from cluster.store.trainings import Training
from portal.presenters.environments.environment_choice import EnvironmentOptions, environment_options
from portal.presenters.jobs.job_form import LAUNCHERS
from portal.web.request_context import current_cluster


@dataclass(frozen=True)
class ScriptChoice:
    """The values of the script's fields: one of `scripts`, or a command that is none of them."""

    version: int
    versions: list[int]
    scripts: list[str]
    script: str
    other_command: str


def choose_script(
    training: Training, values: Mapping[str, Any], is_version_new: bool = False
) -> ScriptChoice:
    """Chooses the script from the files of the chosen version, which is the newest one at first.

    A script that the version does not have is shown as a command, so that it is refused by its name. If the version
    was chosen a moment ago (`is_version_new`), the script is dropped.
    """
    cluster = current_cluster()
    versions = [
        version.number
        for version in code_versions.list_code_versions(cluster, training)
        if version.state is CodeState.READY
    ]
    text = str(values.get("code_version") or "")
    wanted = int(text) if text.isdecimal() and len(text) < 10 else 0
    version = wanted if wanted in versions else training.code_version
    scripts = list_scripts([path for path, _ in trainings.list_code_files(cluster, training, version)])
    other = str(values.get("other_command") or "")
    if is_version_new and values.get("script") not in scripts:
        values = {name: value for name, value in values.items() if name != "script"}
    script = str(values["script"] if "script" in values else "" if other else default_script(scripts))
    if script not in scripts:
        script, other = "", script or other
    return ScriptChoice(version, versions, scripts, script, other)


def offered_environments(
    cluster: Cluster, training: Training, values: Mapping[str, Any]
) -> EnvironmentOptions:
    return environment_options(cluster, training.workspace_id, values.get("environment"))


def offered_launchers(cluster: Cluster, chosen: str, environments: Collection[Environment] = ()) -> list[str]:
    """Leaves torchrun out unless the default environment or one of `environments` has torch, or it is chosen."""
    is_missing = (
        chosen != Launcher.TORCHRUN.value
        and read_torch_is_missing(cluster)
        and not any(TORCH in list_libraries(environment) for environment in environments)
    )
    return [name for name in LAUNCHERS if not is_missing or name != Launcher.TORCHRUN.value]
