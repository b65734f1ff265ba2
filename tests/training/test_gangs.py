"""Two ranks on two hosts that are containers of the default image, confined as pods are: over Open MPI, and over Gloo.

What Kubernetes brings is laid out by hand here: keys and a list of hosts as the MPI operator makes them, and names.
"""

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import docker
import pytest
from docker.models.containers import Container

from cluster.domain.built_in_models import BUILT_IN_MODELS, check_variables
from cluster.domain.jobs import launch
from cluster.domain.states import Launcher, UnitKind
from tests.containers.default_image import built_or_skip, ensure_loaded
from tests.containers.engine import SOCKET
from worker.adapters.job_runtime import install_runtime
from worker.executors import container_folders
from worker.executors.contract import ContainerPlan, ProgramPlan, StartPlan
from worker.executors.kubernetes_run_spec import FOLDER_INSIDE, passwd_text
from worker.images.description import ENVIRONMENT_PATH
from worker.kubernetes.manifests.pod_template import RUNTIME_INSIDE
from worker.kubernetes.manifests.workloads import SSHD, USER_HOME, shim_command

pytestmark = pytest.mark.long
USER = (100_007, 100_003)
"""A number that the image has no name for."""
LIMIT_SECONDS = 900
PYTHON = f"{ENVIRONMENT_PATH}/bin/python"
FOLDERS = launch.JobFolders(RUNTIME_INSIDE, f"{FOLDER_INSIDE}/out", RUNTIME_INSIDE, "/groundcrew/dataset")
UNITS = ["cpu-slot-0", "cpu-slot-1"]
PLAIN = launch.local_launch_plan(
    Launcher.HOROVOD, PYTHON, RUNTIME_INSIDE, 2, launch.built_in_program(PYTHON, "lenet")
)


@dataclass
class Hosts:
    """A network of its own, with what is to be seen on each of its hosts."""

    engine: docker.DockerClient
    image: str
    ground: Path
    network: str
    containers: list[Container] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        return self.ground / "attempt"

    def begin(self, name: str, command: tuple[str, ...], **environment: str) -> Container:
        seen = {
            self.folder / "control": FOLDER_INSIDE / "control",
            self.folder / "out": FOLDER_INSIDE / "out",
        }
        read = {
            self.ground / "runtime": RUNTIME_INSIDE,
            self.ground / "digits": "/groundcrew/dataset",
            self.ground / "passwd": "/etc/passwd",
            self.ground / "keys": f"{USER_HOME}/.ssh",
            self.ground / "mpi": "/etc/mpi",
        }
        volumes = {str(path): {"bind": str(place), "mode": "rw"} for path, place in seen.items()}
        volumes |= {str(path): {"bind": str(place), "mode": "ro"} for path, place in read.items()}
        container = self.engine.containers.run(
            self.image,
            command,
            name=f"{self.network}-{name}",
            hostname=name,
            network=self.network,
            networking_config={
                self.network: self.engine.api.create_endpoint_config(aliases=[name, f"{name}.ranks"])
            },
            user="{}:{}".format(*USER),
            environment=environment,
            volumes=volumes,
            detach=True,
            read_only=True,
            cap_drop=["ALL"],
            security_opt=["no-new-privileges:true"],
            tmpfs={"/tmp": "rw,exec,mode=1777"},
            shm_size="1g",
        )
        self.containers.append(container)
        return container

    def prepare(self, plan: launch.LaunchPlan) -> None:
        told = launch.job_environment(
            1,
            1,
            2,
            UNITS,
            UnitKind.CPU_SLOT,
            FOLDERS,
            f"{ENVIRONMENT_PATH}/bin",
            check_variables(BUILT_IN_MODELS["lenet"], {}),
        )
        user = {"uid": USER[0], "gid": USER[1]}
        program = ProgramPlan(plan.command, told, ranks=2, **user)
        start = StartPlan(1, 1, self.folder, program, container=ContainerPlan(folder_inside=FOLDER_INSIDE))
        container_folders.prepare_folders(start, USER, {"stop": "stop.json"})

    def truth(self, main: Container) -> dict[str, object]:
        code = main.wait(timeout=LIMIT_SECONDS)["StatusCode"]
        out = self.folder / "out"
        said = "\n".join(f"== {each.name}\n{each.read_text()[-1500:]}" for each in sorted(out.glob("*.std*")))
        assert code == 0, said
        return dict(json.loads((self.folder / "control" / "exit.json").read_text()))

    def accuracy(self) -> float:
        rows = (self.folder / "out" / "metrics.jsonl").read_text().splitlines()
        told = [json.loads(row)["scalars"] for row in rows]
        return float([row["accuracy/validation"] for row in told if "accuracy/validation" in row][-1])


@pytest.fixture
def hosts(place: Path, digits: Path, request: pytest.FixtureRequest) -> Iterator[Hosts]:
    image = ensure_loaded(built_or_skip())
    engine = docker.DockerClient(f"unix://{SOCKET}", timeout=LIMIT_SECONDS)
    ground = place / request.node.name
    ground.mkdir()
    lay_out(ground, digits)
    network = engine.networks.create(f"gc-test-{request.node.name.replace('_', '-')[:40]}")
    hosts = Hosts(engine, image, ground, str(network.name))
    try:
        yield hosts
    finally:
        for container in hosts.containers:
            container.remove(force=True)
        network.remove()
        engine.close()


def lay_out(ground: Path, digits: Path) -> None:
    """Keys belong to root and are read by everybody, as a secret's files are in a pod."""
    install_runtime(ground / "installed").rename(ground / "runtime")
    (ground / "digits").symlink_to(digits)
    (ground / "passwd").write_text(passwd_text(USER))
    for name in ("keys", "mpi"):
        (ground / name).mkdir()
    key = ground / "keys" / "id_rsa"
    make = ["ssh-keygen", "-q", "-t", "rsa", "-N", "", "-f", str(key)]
    subprocess.run(make, check=True, stdin=subprocess.DEVNULL)
    (ground / "keys" / "authorized_keys").write_bytes(key.with_suffix(".pub").read_bytes())
    (ground / "mpi" / "hostfile").write_text("worker-0.ranks slots=1\nworker-1.ranks slots=1\n")
    for path in ground.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)


def test_two_hosts_learn_together_over_open_mpi(hosts: Hosts) -> None:
    names = sorted({"CUDA_VISIBLE_DEVICES", *environment_names()})
    hosts.prepare(launch.mpi_launch_plan(PLAIN, PYTHON, RUNTIME_INSIDE, FOLDERS.out, names))
    for worker in ("worker-0", "worker-1"):
        hosts.begin(worker, ("/bin/bash", "-c", SSHD.format(home=USER_HOME)), GROUNDCREW_NODE=worker)
    main = hosts.begin("launcher", shim_command(str(FOLDER_INSIDE), "shim.py", "attached"))
    truth = hosts.truth(main)
    assert (truth["exit_code"], len(truth["ranks"])) == (0, 2)  # type: ignore[arg-type]
    assert hosts.accuracy() >= 0.95


def test_two_hosts_learn_together_over_gloo(hosts: Hosts) -> None:
    address = "ranks-0.ranks"
    hosts.prepare(launch.pod_launch_plan(PLAIN, Launcher.HOROVOD, PYTHON, RUNTIME_INSIDE, (1, 1), address))
    command = shim_command(str(FOLDER_INSIDE), "shim_pod.py")
    member = hosts.begin("ranks-1", command, JOB_COMPLETION_INDEX="1")
    main = hosts.begin("ranks-0", command, JOB_COMPLETION_INDEX="0")
    truth = hosts.truth(main)
    assert (truth["exit_code"], len(truth["ranks"])) == (0, 2)  # type: ignore[arg-type]
    assert member.wait(timeout=60)["StatusCode"] == 0
    assert hosts.accuracy() >= 0.95


def environment_names() -> list[str]:
    told = launch.job_environment(1, 1, 2, UNITS, UnitKind.CPU_SLOT, FOLDERS, f"{ENVIRONMENT_PATH}/bin", {})
    return list(told)
