"""Verify a finished environment as another user: import every library and run one Horovod sum."""

import json
import os
from collections.abc import Mapping

from cluster.domain.images import LibraryVersion
from worker.environments.build_steps import BuildStepProgress
from worker.environments.command_runner import CommandRunner
from worker.environments.errors import BuildStepFailed, BuiltButNotWorking, NoBuildMemory, NoSpaceForBuild
from worker.environments.installation import EnvironmentBuild

NOBODY = 65534

# One rank is enough to load the compiled library and to let it compute a sum.
_TRY = """
import tensorflow, PIL.Image, sklearn.datasets
import horovod.tensorflow as horovod
horovod.init()
assert horovod.size() == 1
assert float(horovod.allreduce(tensorflow.constant(21.0), op=horovod.Sum)) == 21.0
assert horovod.gloo_built()
"""

# This is a separate program, because a process computes with one framework.
TRY_TORCH = """
import torch, torch.distributed.run
assert float((torch.full((3, 7), 1.0) @ torch.full((7, 1), 1.0)).sum()) == 21.0
assert torch.distributed.is_gloo_available()
"""

LIST_VERSIONS = """
import importlib.metadata, json, platform, re
found = {
    re.sub("[-_.]+", "-", each.metadata["Name"]).lower(): each.version
    for each in importlib.metadata.distributions()
}
print(json.dumps({"python": platform.python_version(), **found}))
"""


def verify_environment(build: EnvironmentBuild, progress: BuildStepProgress) -> None:
    """Imports the libraries and runs Horovod. If this process is root, a user without rights does it, because jobs
    have none either. Raises BuiltButNotWorking.
    """
    _run(build, _TRY, progress)
    if "torch" in build.description.purposes:
        _run(build, TRY_TORCH, progress)
    progress.advance(1.0)


def list_environment_contents(
    build: EnvironmentBuild, progress: BuildStepProgress
) -> tuple[LibraryVersion, ...]:
    """The libraries that the description names, with the versions that are installed."""
    versions = json.loads(_run(build, LIST_VERSIONS, progress)[-1])
    return select_contents(build.description.purposes, versions)


def select_contents(purposes: Mapping[str, str], versions: Mapping[str, str]) -> tuple[LibraryVersion, ...]:
    """The libraries in the order of the description. Raises BuiltButNotWorking if one of them is not installed."""
    missing = [library for library in purposes if library not in versions]
    if missing:
        raise BuiltButNotWorking(
            "environment.not_working", line=f"not installed: {', '.join(missing)}", log=""
        )
    return tuple(LibraryVersion(library, versions[library], purpose) for library, purpose in purposes.items())


def _run(build: EnvironmentBuild, program: str, progress: BuildStepProgress) -> list[str]:
    commands: CommandRunner = build.commands
    try:
        return commands.run(
            [build.environment / "bin" / "python", "-I", "-B", "-c", program],
            variables={**build.description.variables, "HOME": "/nonexistent"},
            on_tick=progress.report_again,
            user=NOBODY if os.geteuid() == 0 else None,
        )
    except (NoBuildMemory, NoSpaceForBuild):
        raise
    except BuildStepFailed as failure:
        raise BuiltButNotWorking("environment.not_working", **failure.data) from failure
