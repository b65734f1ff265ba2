"""Decide whether a job may run in an environment, and what it would lack there."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from cluster.domain.errors import Refused
from cluster.domain.jobs.submission import SubmissionWarning
from cluster.domain.states import EnvironmentSource, EnvironmentState, Launcher

DEFAULT_NAME = "default"
OLDEST_PYTHON = (3, 6)
"""The oldest Python that can parse the files which run inside a job."""
NEEDED_LIBRARY = {
    Launcher.TORCHRUN: ("torch", "job.torch_missing"),
    Launcher.HOROVOD: ("horovod", "job.horovod_missing"),
}
"""The library whose module starts the ranks, and the code of the sentence that it is missing."""
BUILT_IN_LIBRARIES = ("horovod",)
"""The libraries that the built-in models need beside a TensorFlow, which has several names."""


@dataclass(frozen=True)
class EnvironmentTerms:
    """The facts that decide who may run in an environment. `workspace_ids` count only if it is not global."""

    id: int
    name: str
    source: str
    state: EnvironmentState
    python: str
    is_deleted: bool
    is_global: bool
    workspace_ids: frozenset[int] = frozenset()

    def may_choose(self, workspace_id: int) -> bool:
        return self.is_global or workspace_id in self.workspace_ids


def check_choice(terms: EnvironmentTerms, workspace_id: int, is_in_image: bool) -> None:
    """Raises Refused for an environment in which no job of the workspace can run. `is_in_image`: jobs use what is in
    their image, and not what was built on this machine.
    """
    if not terms.may_choose(workspace_id):
        raise Refused("environment", "job.environment_unknown", id=terms.id)
    if terms.is_deleted:
        raise Refused("environment", "job.environment_deleted", name=terms.name)
    if (terms.source == EnvironmentSource.IMAGE) is not is_in_image:
        raise Refused("environment", "job.environment_elsewhere", name=terms.name)
    if terms.state is EnvironmentState.UNAPPROVED:
        raise Refused("environment", "job.environment_not_approved", name=terms.name)
    if terms.state is EnvironmentState.FAILED:
        raise Refused("environment", "job.environment_failed", name=terms.name)
    if is_too_old(terms.python):
        raise Refused(
            "environment",
            "job.environment_python_too_old",
            name=terms.name,
            version=terms.python,
            least=".".join(map(str, OLDEST_PYTHON)),
        )


def is_too_old(python: str) -> bool:
    """Whether this version of Python is older than what runs inside a job. An unknown version is not."""
    numbers = re.match(r"([0-9]{1,4})\.([0-9]{1,4})", python)
    return numbers is not None and (int(numbers[1]), int(numbers[2])) < OLDEST_PYTHON


def launcher_warnings(
    launcher: Launcher, libraries: Collection[str], environment: str
) -> tuple[SubmissionWarning, ...]:
    """The warning prevents nothing, because a program may contain what starts its ranks. There is no warning if no
    library is known.
    """
    library, code = NEEDED_LIBRARY.get(launcher, ("", ""))
    if not library or not libraries or library in libraries:
        return ()
    return (SubmissionWarning("launcher", code, {"environment": environment}),)


def check_built_in_model(model: str, libraries: Sequence[str], environment: str) -> None:
    """Raises Refused for a built-in model if the environment lacks its libraries."""
    if not libraries:
        return
    has_tensorflow = any(library in ("tensorflow", "tensorflow-cpu") for library in libraries)
    missing = [] if has_tensorflow else ["tensorflow"]
    missing += [library for library in BUILT_IN_LIBRARIES if library not in libraries]
    if missing:
        raise Refused(
            "environment", "job.environment_lacks", name=environment, libraries=missing, model=model
        )
