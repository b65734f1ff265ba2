"""Check programs, Python version and free space before a build changes anything."""

import os
import shutil
from pathlib import Path

from worker.environments.build_platform import read_python_facts
from worker.environments.command_runner import PATH
from worker.environments.description import CompilerRequirement, EnvironmentDescription
from worker.environments.errors import NoSpaceForBuild, PythonUnsupported, ToolsMissing


def check_python_version(description: EnvironmentDescription, python: Path) -> None:
    """Raises ToolsMissing if there is no interpreter, PythonUnsupported if its version has no pins."""
    if not os.access(python, os.X_OK):
        raise missing_tools_error(["python3"])
    version = read_python_facts(python)["version"]
    if version not in description.pythons:
        raise PythonUnsupported(
            "environment.python_unsupported", version=version, supported=list(description.pythons), log=""
        )


def check_ensurepip(python: Path) -> None:
    """Checks that the interpreter has `ensurepip`, which installs the first pip. Raises ToolsMissing."""
    library = read_python_facts(python)["library"]
    if not Path(library, "ensurepip", "__init__.py").exists():
        raise missing_tools_error(["python3-venv"])


def check_compiler(description: EnvironmentDescription, python: Path) -> None:
    """Checks the compiler's requirements. Raises ToolsMissing with all packages that are missing."""
    include = Path(read_python_facts(python)["include"])
    missing = [need.package for need in description.compiled.needs if not _is_there(need, include)]
    if missing:
        raise missing_tools_error(missing)


def missing_tools_error(packages: list[str]) -> ToolsMissing:
    return ToolsMissing("environment.tools_missing", packages=packages, log="")


def check_free_space(folder: Path, needed: int) -> None:
    """Raises NoSpaceForBuild, with both numbers in bytes, if the folder's file system has less
    than `needed` bytes free.
    """
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise NoSpaceForBuild("environment.no_space", needed=needed, free=free, path=str(folder), log="")


def _is_there(need: CompilerRequirement, include: Path) -> bool:
    if need.program is not None:
        return shutil.which(need.program, path=PATH) is not None
    return need.header is not None and (include / need.header).exists()
