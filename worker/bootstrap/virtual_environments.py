"""Build virtual environments of pinned requirements in the cache directory. Standard library only."""

import ast
import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import time
from pathlib import Path

from worker.bootstrap.terminal import exit_with_error, print_sentence

RECIPE = "1"  # Increase it when an environment must be built again from the same requirements.
SYSTEM_CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
NETWORK_ERROR_SIGNS = (
    "connection",
    "resolve",
    "resolution",
    "unreachable",
    "timed out",
    "dns error",
    "failed to fetch",
)


def virtual_environment_path(cache: Path, name: str, requirements: Path) -> Path:
    """The path of the environment of these exact requirements, whether it is built or not."""
    inputs = [RECIPE, platform.machine(), platform.python_version(), requirements.read_text()]
    digest = hashlib.sha256("\0".join(inputs).encode()).hexdigest()[:12]
    return cache / f"{name}-{digest}"


def ensure_virtual_environment(cache: Path, name: str, requirements: Path, log: Path) -> Path:
    """Build the environment beside its final path and rename it. After an interruption the next call starts again."""
    target = virtual_environment_path(cache, name, requirements)
    if is_built(target):
        return target
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / f".{target.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not is_built(target):
            build_virtual_environment(target, requirements, log, ("--cache-dir", str(cache / "uv")))
    return target


def is_built(target: Path) -> bool:
    return (target / "bin" / "python").exists()


def build_virtual_environment(
    target: Path, requirements: Path, log: Path, options: tuple[str, ...], wheel: Path | None = None
) -> None:
    """Create a virtual environment, install the pinned uv by pip, then all packages by uv, and our own wheel last."""
    pins = requirements.read_text()
    print_sentence(
        "Building the Python environment {name} ({count} packages) ...",
        name=target.name,
        count=pins.count("=="),
    )
    started = time.monotonic()
    building = target.with_name(f"{target.name}.building")
    shutil.rmtree(building, ignore_errors=True)
    run_build_step([sys.executable, "-m", "venv", str(building)], log)
    # Scripts then find their interpreter relative to themselves, so that the folder can be renamed.
    with (building / "pyvenv.cfg").open("a") as configuration:
        configuration.write("relocatable = true\n")
    python = str(building / "bin" / "python")
    uv_pin = building / "uv.txt"
    uv_pin.write_text(select_pins(pins, "uv"))
    pip = [python, "-m", "pip", "--disable-pip-version-check"]
    run_build_step(
        [*pip, "install", "--require-hashes", "--no-deps", "--only-binary", ":all:", "-r", str(uv_pin)], log
    )
    uv = [str(building / "bin" / "uv"), "pip"]
    more = ["--python", python, "--compile-bytecode", *options]
    run_build_step([*uv, "sync", "--require-hashes", *more, str(requirements)], log, uv_variables(pip))
    if wheel is not None:
        run_build_step([*uv, "install", "--offline", "--no-deps", *more, str(wheel)], log)
    building.rename(target)
    print_sentence("  built in {seconds:.0f} s", seconds=time.monotonic() - started)


def run_build_step(command: list[str], log: Path, more: dict[str, str] | None = None) -> None:
    """Run one step of a build. If it fails, exit with the end of its output and with what to do."""
    done = subprocess.run(
        command,
        env={**os.environ, **(more or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("a") as file:
        file.write(f"$ {' '.join(command)}\n{done.stdout}\n")
    if done.returncode == 0:
        return
    print("\n".join(done.stdout.splitlines()[-8:]), file=sys.stderr, flush=True)
    if any(sign in done.stdout.lower() for sign in NETWORK_ERROR_SIGNS):
        exit_with_error(
            "The Python package index did not answer. Connect this machine to its network, or name your own "
            "index in /etc/pip.conf, then run the command again. All of it is in {log}",
            log=log,
        )
    if "no space left" in done.stdout.lower():
        exit_with_error("The disk is full. Make room on {path}, then run the command again.", path=log.parent)
    exit_with_error(
        "The Python environment could not be built. All of it is in {log}; the next run begins anew.", log=log
    )


def select_pins(pins: str, name: str) -> str:
    """The lines of one package, with its hashes, from a requirements file."""
    lines: list[str] = []
    inside = False
    for line in pins.splitlines():
        if not line.startswith((" ", "#")):
            inside = line.startswith(f"{name}==")
        if inside:
            lines.append(line)
    return "\n".join(lines) + "\n"


def uv_variables(pip: list[str]) -> dict[str, str]:
    """uv's variables for the settings of this machine's pip: index, certificates, trusted hosts. uv's own settings
    win.
    """
    listed = subprocess.run([*pip, "config", "list"], capture_output=True, text=True, check=False)
    return {name: value for name, value in parse_pip_config(listed.stdout).items() if name not in os.environ}


def parse_pip_config(listed: str) -> dict[str, str]:
    """The output of ``pip config list`` as uv's environment variables."""
    told: dict[str, str] = {}
    for line in listed.splitlines():
        key, _, value = line.partition("=")
        told[key.split(".")[-1].lower().replace("_", "-")] = str(ast.literal_eval(value))
    links = " ".join(
        each for each in told.get("find-links", "").split() if "://" in each or Path(each).exists()
    )
    is_without_index = told.get("no-index", "").lower() in {"1", "true", "yes", "on"}
    settings = {
        "UV_DEFAULT_INDEX": told.get("index-url", ""),
        "UV_INDEX": " ".join(told.get("extra-index-url", "").split()),
        "UV_FIND_LINKS": links,
        # uv has no variable for "no index". It can use folders offline too.
        "UV_OFFLINE": "1" if is_without_index and "://" not in links else "",
        "UV_INSECURE_HOST": " ".join(told.get("trusted-host", "").split()),
        "SSL_CERT_FILE": told.get("cert", ""),
        "UV_SYSTEM_CERTS": "true" if SYSTEM_CERTIFICATES.exists() else "",
        "UV_PYTHON_DOWNLOADS": "never",
        "UV_NO_PROGRESS": "1",
    }
    return {name: value for name, value in settings.items() if value}
