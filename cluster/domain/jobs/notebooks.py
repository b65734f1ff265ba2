"""Build the command line and environment variables of a notebook server: JupyterLab of the training environment."""

PORT = 8888
HEALTH_PATH = "/api"
"""The path that everybody may open once the server is ready. Its answer contains only the version."""
SCRATCH_DIR = "/tmp/jupyter"
"""The folder for what is lost with the notebook: sockets, token files, and databases that shared storage would
damage.
"""
SERVER_SETTINGS = {
    "ServerApp.ip": "0.0.0.0",
    "ServerApp.port": str(PORT),
    # Nobody would find the server on another port.
    "ServerApp.port_retries": "0",
    "ServerApp.open_browser": "False",
    # No request may leave the site: not for news, newer versions or a list of extensions.
    "LabApp.news_url": "None",
    "LabApp.check_for_updates_class": "jupyterlab.NeverCheckForUpdate",
    "LabApp.extension_manager": "readonly",
}


def notebook_program(interpreter: str, folder: str) -> tuple[str, ...]:
    """`folder` is the root of the file browser and the working folder of programs."""
    switches = (f"--{name}={value}" for name, value in SERVER_SETTINGS.items())
    return (interpreter, "-m", "jupyterlab", *switches, f"--ServerApp.root_dir={folder}")


def notebook_environment(token: str) -> dict[str, str]:
    """Variables in addition to those of every job. The token is in no command line, which everybody in the pod could
    read.
    """
    return {
        "JUPYTER_TOKEN": token,
        "JUPYTER_RUNTIME_DIR": f"{SCRATCH_DIR}/runtime",
        "JUPYTER_DATA_DIR": f"{SCRATCH_DIR}/data",
        "IPYTHONDIR": f"{SCRATCH_DIR}/ipython",
        "SHELL": "/bin/bash",
    }
