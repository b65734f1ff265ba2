"""The default image's CPU variant: what it says that it holds is in it, and two ranks learn in it by both launchers."""

import json
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest
from docker.models.containers import Container

from cluster.domain.built_in_models import BUILT_IN_MODELS, check_variables
from cluster.domain.jobs.launch import JobFolders, job_environment
from cluster.domain.states import UnitKind
from tests.containers.default_image import Built, built_or_skip, ensure_loaded
from tests.containers.engine import SOCKET
from worker.adapters.job_runtime import install_runtime
from worker.images.description import ENVIRONMENT_PATH

pytestmark = pytest.mark.long
USER = 1000
LIMIT_SECONDS = 300
PYTHON = f"{ENVIRONMENT_PATH}/bin/python"
PROGRAM = (PYTHON, "-u", "-m", "groundcrew_models.lenet")
LAUNCHERS = {
    "mpi": ("mpirun", "--bind-to", "none", "-np", "2", *PROGRAM),
    "gloo": ("horovodrun", "--gloo", "-np", "2", *PROGRAM),
}
LIST = """
import importlib.metadata, json, platform, subprocess
found = {each.metadata["Name"].lower().replace("_", "-"): each.version for each in importlib.metadata.distributions()}
packages = subprocess.check_output(["dpkg-query", "-W", "-f", "${Package} ${Version}\\n"], text=True)
found |= dict(line.split(" ", 1) for line in packages.splitlines())
print(json.dumps({**found, "python": platform.python_version()}))
"""


@pytest.fixture(scope="module")
def built() -> Built:
    return built_or_skip()


@pytest.fixture(scope="module")
def image(built: Built) -> str:
    return ensure_loaded(built)


@pytest.fixture
def engine() -> Iterator[docker.DockerClient]:
    client = docker.DockerClient(f"unix://{SOCKET}", timeout=LIMIT_SECONDS)
    yield client
    client.close()


def said_by(container: Container) -> str:
    """Waits for its end, which has to be a good one."""
    try:
        code = container.wait(timeout=LIMIT_SECONDS)["StatusCode"]
        said = container.logs().decode()
        assert code == 0, said[-3000:]
        return said
    finally:
        container.remove(force=True)


def start(engine: docker.DockerClient, image: str, command: tuple[str, ...], **more: object) -> Container:
    """As a pod would be confined: no capability, nothing to write but /tmp, no network."""
    return engine.containers.run(
        image,
        command,
        detach=True,
        network_mode="none",
        # Ranks look their own name up; without a network the engine does not write it down.
        hostname="ranks",
        extra_hosts={"ranks": "127.0.0.1"},
        read_only=True,
        cap_drop=["ALL"],
        security_opt=["no-new-privileges:true"],
        tmpfs={"/tmp": "rw,exec,mode=1777"},
        shm_size="1g",
        cpu_shares=128,
        **more,
    )


def test_its_contents_are_what_is_in_it(built: Built, image: str, engine: docker.DockerClient) -> None:
    found = json.loads(said_by(start(engine, image, (PYTHON, "-c", LIST))).splitlines()[-1])
    named = {part.library: part.version for part in built.record.contents}
    assert {"tensorflow-cpu", "horovod", "numpy", "jupyterlab", "openmpi-bin", "openssh-server"} <= set(named)
    assert {library: found.get(library) for library in named} == named


def test_its_ssh_server_starts_as_a_plain_user(image: str, engine: docker.DockerClient) -> None:
    keys = "ssh-keygen -q -t rsa -N '' -f .ssh/id_rsa && cp .ssh/id_rsa.pub .ssh/authorized_keys"
    server = "/usr/sbin/sshd -f .sshd_config -E /tmp/sshd.log"
    ask = "ssh -p 2222 -o IdentityFile=.ssh/id_rsa 127.0.0.1 'python -c \"import horovod; print(horovod.__version__)\"'"
    command = ("sh", "-ec", f"cd; {keys}; {server}; {ask} || {{ cat /tmp/sshd.log; exit 1; }}")
    home = {"/tmp": "rw,exec,mode=1777", "/home/mpiuser/.ssh": f"rw,mode=700,uid={USER},gid={USER}"}
    container = engine.containers.run(
        image, command, detach=True, network_mode="none", read_only=True, cap_drop=["ALL"], tmpfs=home
    )
    assert said_by(container).splitlines()[-1] == "0.28.1"


@pytest.mark.parametrize("launcher", sorted(LAUNCHERS))
def test_two_ranks_learn_the_digits_in_it(
    launcher: str, image: str, engine: docker.DockerClient, place: Path, digits: Path
) -> None:
    runtime, out = install_runtime(place / "runtime"), place / f"image-{launcher}"
    out.mkdir()
    out.chmod(0o777)
    folders = JobFolders("/runtime", "/out", "/runtime", "/digits")
    variables = check_variables(BUILT_IN_MODELS["lenet"], {})
    told = job_environment(
        1,
        1,
        2,
        ["cpu-slot-0", "cpu-slot-1"],
        UnitKind.CPU_SLOT,
        folders,
        f"{ENVIRONMENT_PATH}/bin",
        variables,
    )
    mounts = {
        str(runtime): {"bind": "/runtime", "mode": "ro"},
        str(digits): {"bind": "/digits", "mode": "ro"},
        str(out): {"bind": "/out", "mode": "rw"},
    }
    container = start(engine, image, LAUNCHERS[launcher], environment=told, volumes=mounts)
    said = said_by(container)
    rows = [json.loads(line)["scalars"] for line in (out / "metrics.jsonl").read_text().splitlines()]
    reached = [row["accuracy/validation"] for row in rows if "accuracy/validation" in row]
    assert reached[-1] >= 0.95, said[-2000:]
