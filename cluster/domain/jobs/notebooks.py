"""Build the command line and environment variables of a notebook server: JupyterLab of the training environment."""

PORT = 8888
HEALTH_PATH = "/api"
"""Answered to anybody once it serves, with its version alone."""
SCRATCH_DIR = "/tmp/jupyter"
"""What dies with the notebook: sockets, the token's own files, and databases that a shared storage would spoil."""
SERVER_SETTINGS = {
    "ServerApp.ip": "0.0.0.0",
    "ServerApp.port": str(PORT),
    # Another port would be found by nobody.
    "ServerApp.port_retries": "0",
    "ServerApp.open_browser": "False",
    # No request leaves the site: neither for news and newer versions, nor for a list of extensions.
    "LabApp.news_url": "None",
    "LabApp.check_for_updates_class": "jupyterlab.NeverCheckForUpdate",
    "LabApp.extension_manager": "readonly",
}


def notebook_program(interpreter: str, folder: str) -> tuple[str, ...]:
    """`folder` is what is shown of its files, and where programs in it begin."""
    switches = (f"--{name}={value}" for name, value in SERVER_SETTINGS.items())
    return (interpreter, "-m", "jupyterlab", *switches, f"--ServerApp.root_dir={folder}")


def notebook_environment(token: str) -> dict[str, str]:
    """Besides what every job is told. The token stands in no command line: everybody in the pod could read that."""
    return {
        "JUPYTER_TOKEN": token,
        "JUPYTER_RUNTIME_DIR": f"{SCRATCH_DIR}/runtime",
        "JUPYTER_DATA_DIR": f"{SCRATCH_DIR}/data",
        "IPYTHONDIR": f"{SCRATCH_DIR}/ipython",
        "SHELL": "/bin/bash",
    }
