"""Check the script of a job of own code: a file of the version that it runs, or a command of the node."""

import posixpath
from collections.abc import Collection, Sequence
from difflib import get_close_matches

from cluster.domain.errors import Refused

PYTHON = ("python", "python3")
MAX_NAMED_FILES = 5


def check_script(command: Sequence[str], files: Collection[str], version: int) -> None:
    """Raises Refused for a command that would fail as soon as it starts. `files` are the paths of the version, empty if
    they are unknown.

    A `.py` file is run by the environment's Python; any other word is a command, which is looked up on PATH, or in the
    code if it contains a slash (see `cluster.domain.jobs.launch.custom_program`).
    """
    script = command[0]
    if script in files:
        check_is_run(script)
        return
    if len(words := script.split()) > 1:
        refuse_several_words(words)
    check_is_there(script, files, version)
    if script in PYTHON and len(command) > 1:
        check_is_there(command[1], files, version)


def refuse_several_words(words: Sequence[str]) -> None:
    first, *rest = words
    if first in PYTHON and rest[0].endswith(".py"):
        raise Refused("command", "job.script_with_python", script=rest[0])
    raise Refused("command", "job.script_with_arguments", script=first, arguments=" ".join(rest))


def check_is_run(script: str) -> None:
    if not script.endswith(".py") and "/" not in script:
        raise Refused("command", "job.script_without_command", script=script)


def check_is_there(script: str, files: Collection[str], version: int) -> None:
    is_of_code = not script.startswith("/") and (script.endswith(".py") or "/" in script)
    if not files or not is_of_code or posixpath.normpath(script) in files:
        return
    scripts = list_scripts(files)
    near = get_close_matches(script, scripts, 1)
    raise Refused(
        "command",
        "job.script_not_there",
        script=script,
        version=version,
        near=near[0] if near else None,
        scripts=scripts[:MAX_NAMED_FILES],
    )


def list_scripts(files: Collection[str]) -> list[str]:
    """The files that Python is meant to run, those outside of folders first; `__init__.py` only marks a package."""
    scripts = (file for file in files if file.endswith(".py") and posixpath.basename(file) != "__init__.py")
    return sorted(scripts, key=lambda file: (file.count("/"), file))


def default_script(files: Collection[str]) -> str:
    """The only script there is; empty if there are several, because one of them would be a guess."""
    scripts = list_scripts(files)
    return scripts[0] if len(scripts) == 1 else ""
