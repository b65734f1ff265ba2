"""Tries a finished environment as a job would: another user, another folder, every library that counts."""

import json
import os
from collections.abc import Mapping

from cluster.domain.images import Part
from worker.environments.commands import Commands
from worker.environments.errors import NoMemory, NoSpace, NotWorking, StepFailed
from worker.environments.install import Workshop
from worker.environments.steps import Progress

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

LIST = """
import importlib.metadata, json, platform, re
found = {
    re.sub("[-_.]+", "-", each.metadata["Name"]).lower(): each.version
    for each in importlib.metadata.distributions()
}
print(json.dumps({"python": platform.python_version(), **found}))
"""


def verify(shop: Workshop, progress: Progress) -> None:
    """As root the environment is tried by a user without any right, as jobs are run. Raises NotWorking."""
    _run(shop, _TRY, progress)
    progress.tell(1.0)


def list_contents(shop: Workshop, progress: Progress) -> tuple[Part, ...]:
    """The libraries that the description names, with the versions that are installed."""
    versions = json.loads(_run(shop, LIST, progress)[-1])
    return choose_contents(shop.description.purposes, versions)


def choose_contents(purposes: Mapping[str, str], versions: Mapping[str, str]) -> tuple[Part, ...]:
    """In the description's order; raises NotWorking where one of them is not installed."""
    missing = [library for library in purposes if library not in versions]
    if missing:
        raise NotWorking("environment.not_working", line=f"not installed: {', '.join(missing)}", log="")
    return tuple(Part(library, versions[library], purpose) for library, purpose in purposes.items())


def _run(shop: Workshop, program: str, progress: Progress) -> list[str]:
    commands: Commands = shop.commands
    try:
        return commands.run(
            [shop.environment / "bin" / "python", "-I", "-B", "-c", program],
            variables={**shop.description.variables, "HOME": "/nonexistent"},
            on_tick=progress.tick,
            user=NOBODY if os.geteuid() == 0 else None,
        )
    except (NoMemory, NoSpace):
        raise
    except StepFailed as failure:
        raise NotWorking("environment.not_working", **failure.data) from failure
