"""Verify a finished environment as another user: import every library and run one Horovod sum."""

import json
import os
from collections.abc import Mapping

from cluster.domain.images import LibraryVersion
from worker.environments.build_steps import BuildStepProgress
from worker.environments.command_runner import CommandRunner
from worker.environments.errors import BuildStepFailed, BuiltButNotWorking, NoBuildMemory, NoDiskSpace
from worker.environments.installation import EnvironmentBuild

NOBODY = 65534

# One rank is enough to load what was compiled and to let it sum something.
_TRY = """
import tensorflow, PIL.Image, sklearn.datasets
import horovod.tensorflow as horovod
horovod.init()
assert horovod.size() == 1
assert float(horovod.allreduce(tensorflow.constant(21.0), op=horovod.Sum)) == 21.0
assert horovod.gloo_built()
"""

LIST_VERSIONS = """
import importlib.metadata, json, platform, re
found = {
    re.sub("[-_.]+", "-", each.metadata["Name"]).lower(): each.version
    for each in importlib.metadata.distributions()
}
print(json.dumps({"python": platform.python_version(), **found}))
"""


def verify_environment(shop: EnvironmentBuild, progress: BuildStepProgress) -> None:
    """As root the environment is tried by a user without any right, as jobs are run. Raises BuiltButNotWorking."""
    _run(shop, _TRY, progress)
    progress.advance(1.0)


def list_environment_contents(
    shop: EnvironmentBuild, progress: BuildStepProgress
) -> tuple[LibraryVersion, ...]:
    """The libraries that the description names, with the versions that are installed."""
    versions = json.loads(_run(shop, LIST_VERSIONS, progress)[-1])
    return select_contents(shop.description.purposes, versions)


def select_contents(purposes: Mapping[str, str], versions: Mapping[str, str]) -> tuple[LibraryVersion, ...]:
    """In the description's order; raises BuiltButNotWorking where one of them is not installed."""
    missing = [library for library in purposes if library not in versions]
    if missing:
        raise BuiltButNotWorking(
            "environment.not_working", line=f"not installed: {', '.join(missing)}", log=""
        )
    return tuple(LibraryVersion(library, versions[library], purpose) for library, purpose in purposes.items())


def _run(shop: EnvironmentBuild, program: str, progress: BuildStepProgress) -> list[str]:
    commands: CommandRunner = shop.commands
    try:
        return commands.run(
            [shop.environment / "bin" / "python", "-I", "-B", "-c", program],
            variables={**shop.description.variables, "HOME": "/nonexistent"},
            on_tick=progress.report_again,
            user=NOBODY if os.geteuid() == 0 else None,
        )
    except (NoBuildMemory, NoDiskSpace):
        raise
    except BuildStepFailed as failure:
        raise BuiltButNotWorking("environment.not_working", **failure.data) from failure
