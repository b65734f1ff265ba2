"""A notebook's server is started with a fixed command and environment."""

from cluster.domain.jobs.notebooks import PORT, SCRATCH_DIR, notebook_environment, notebook_program

PROGRAM = notebook_program("/opt/python", "/groundcrew/attempt/out/work")


def test_it_serves_on_the_one_port_that_its_service_knows() -> None:
    assert PROGRAM[:3] == ("/opt/python", "-m", "jupyterlab")
    assert {"--ServerApp.ip=0.0.0.0", f"--ServerApp.port={PORT}", "--ServerApp.port_retries=0"} <= set(
        PROGRAM
    )
    assert "--ServerApp.root_dir=/groundcrew/attempt/out/work" in PROGRAM


def test_the_token_stands_in_no_command_line() -> None:
    assert notebook_environment("secret")["JUPYTER_TOKEN"] == "secret"
    assert not [word for word in PROGRAM if "token" in word.lower() or "password" in word.lower()]


def test_its_sockets_and_databases_are_not_on_the_shared_storage() -> None:
    folders = [value for name, value in notebook_environment("x").items() if name.endswith("DIR")]
    assert len(folders) == 3 and all(folder.startswith(f"{SCRATCH_DIR}/") for folder in folders)
