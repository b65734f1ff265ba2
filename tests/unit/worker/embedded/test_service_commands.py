"""A service's command is a module of this Python, with or without a listening socket, or another program."""

import pytest

from worker.embedded.service_commands import WITH_SOCKET, PythonCommand, parse_python_command

PYTHON = "/environment/bin/python"
SCHEDULER = (PYTHON, "-m", "worker", "scheduler")


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (SCHEDULER, PythonCommand(SCHEDULER, False)),
        ((*WITH_SOCKET, *SCHEDULER), PythonCommand(SCHEDULER, True)),
        (("/usr/bin/redis-server", "redis.conf"), None),
        (("/bin/sh", "/state/nginx/start"), None),
        (("/bin/sh", "-c", "true", *SCHEDULER), None),
        ((*WITH_SOCKET, "/usr/bin/socat"), None),
        (("/usr/bin/python3", "-m", "worker"), None),
        ((PYTHON, "-c", "print()"), None),
        ((PYTHON, "-m"), None),
        ((), None),
    ],
)
def test_commands_of_this_python_are_found(words: tuple[str, ...], found: PythonCommand | None) -> None:
    assert parse_python_command(words, PYTHON) == found


def test_a_command_tells_its_module_and_its_arguments() -> None:
    command = PythonCommand(SCHEDULER, False)
    assert (command.module, command.arguments) == ("worker", ("scheduler",))
