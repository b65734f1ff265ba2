"""A notebook's server is started with a fixed command and environment."""

from cluster.domain.notebooks.jupyter_server import (
    NotebookPlaces,
    base_path,
    health_path,
    notebook_environment,
    notebook_program,
)

PLACES = NotebookPlaces("/editor/bin/python", "/env/bin/python", "/runtime", "/copy", "/code", "/socket")
BEFORE = {"PATH": "/env/bin:/usr/bin"}


def test_it_runs_in_the_editors_environment_and_imports_nothing_of_the_person() -> None:
    assert notebook_program(PLACES) == ("/editor/bin/python", "-I", "/runtime/groundcrew_notebooks/server.py")


def test_the_token_stands_in_no_command_line() -> None:
    assert notebook_environment(7, "secret", PLACES, BEFORE)["JUPYTER_TOKEN"] == "secret"
    assert not [word for word in notebook_program(PLACES) if "secret" in word]


def test_what_outlives_the_job_lies_in_the_working_copy() -> None:
    variables = notebook_environment(7, "x", PLACES, BEFORE)
    assert {variables[name] for name in ("HOME", "PIP_PREFIX", "GROUNDCREW_CODE")} == {
        "/copy/home",
        "/copy/packages",
        "/copy/files",
    }
    assert variables["PATH"] == "/env/bin:/usr/bin:/copy/packages/bin"


def test_it_listens_on_a_socket_here_and_on_a_port_in_a_pod() -> None:
    assert (
        notebook_environment(7, "x", PLACES, BEFORE)["GROUNDCREW_NOTEBOOK_SOCKET"] == "/socket/jupyter.sock"
    )
    pod = NotebookPlaces("/python", "/python", "/runtime", "/copy")
    assert notebook_environment(7, "x", pod, BEFORE)["GROUNDCREW_NOTEBOOK_SOCKET"] == ""


def test_each_notebook_answers_below_a_path_of_its_own() -> None:
    assert (base_path(7), health_path(7)) == ("/nb/7/", "/nb/7/api")
