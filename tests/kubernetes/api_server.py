"""A real API server of Kubernetes with its etcd on this machine, and no kubelet: tests play what a node would say.

Its programs are those of the bundle. Beside it runs the controller manager, for Jobs that make pods and for what is
deleted with its owner; of the add-ons the kinds of objects are there, and the MPI operator where a test wants it.
"""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.free_ports import free_port
from tests.kubernetes.compiled_programs import find_manifests, find_programs
from tests.unit.roles.rendering import render, value_of
from worker.kubernetes.api_client import ApiRefused, ApiUnreachable, KubernetesApi

STARTS_WITHIN = 120.0
ADMINISTRATOR, SCHEDULER, NOBODY = "administrator", "groundcrew-scheduler", "nobody"
WATCHER = "groundcrew-pod-network"
SERVED = ("v1beta2", "v2beta1")
"""Other versions of a kind are converted by controllers that do not run here."""
CONTROLLERS = "job-controller,garbage-collector-controller,serviceaccount-controller,namespace-controller"
LETTERS = {"etcd": {"GOMAXPROCS": "1"}, "kube-apiserver": {"GOMAXPROCS": "2"}}


@dataclass
class ApiServer:
    """`api` may do everything; `scheduler` is bound to nothing but what a test gives it."""

    folder: Path
    port: int
    start_server: Callable[[], "subprocess.Popen[bytes]"]
    programs: Mapping[str, Path]
    api: KubernetesApi = field(init=False)
    server: "subprocess.Popen[bytes]" = field(init=False)
    has_kinds: bool = False
    """Whether those of the add-ons are there."""

    def __post_init__(self) -> None:
        self.api = KubernetesApi(self.kubeconfig(ADMINISTRATOR))
        self.start()

    def kubeconfig(self, user: str) -> Path:
        file = self.folder / f"{user}.conf"
        about = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "here", "cluster": self.address()}],
            "users": [{"name": user, "user": {"token": f"token-of-{user}"}}],
            "contexts": [{"name": "here", "context": {"cluster": "here", "user": user}}],
            "current-context": "here",
        }
        file.write_text(yaml.safe_dump(about))
        file.chmod(0o600)
        return file

    def address(self) -> dict[str, Any]:
        certificate = self.folder / "pki" / "apiserver.crt"
        known = {"certificate-authority": str(certificate)}
        return {"server": f"https://127.0.0.1:{self.port}", **known}

    def start(self) -> None:
        """Also after a stop, when the add-ons' kinds are served a moment later than its own."""
        self.server = self.start_server()
        self.wait_until_ready()
        if self.has_kinds:
            self.wait_until_served()

    def stop(self) -> None:
        """As a master that is off: whoever asks gets no answer."""
        end(self.server)

    @contextmanager
    def standing_still(self) -> Iterator[None]:
        """It takes connections and says nothing."""
        stop_all_threads(self.server)
        try:
            yield
        finally:
            self.server.send_signal(signal.SIGCONT)

    def wait_until_ready(self) -> None:
        def is_ready() -> bool:
            assert self.server.poll() is None, (self.folder / "kube-apiserver.log").read_text()[-3000:]
            try:
                return bool(self.api.list_all("Namespace").things)
            except (ApiUnreachable, ApiRefused):
                return False

        until(is_ready, "the API server's first answer")

    def wait_until_served(self) -> None:
        for kind in ("ClusterQueue", "LocalQueue", "ResourceFlavor", "Workload", "MPIJob"):
            until(lambda asked=kind: can_list(self.api, asked), f"that {kind}s are served")  # type: ignore[misc]

    def add_namespace(self, name: str, **labels: str) -> None:
        """With its service account, without which no pod is let in."""
        self.api.apply(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
        )
        until(lambda: self.api.get("ServiceAccount", "default", name), f"the service account of {name}")


def until(condition: Callable[[], Any], what: str, seconds: float = STARTS_WITHIN) -> Any:
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.05)
    return value


def end(process: "subprocess.Popen[bytes]") -> None:
    """At once: there is nothing to keep, and a polite goodbye of the API server takes ten seconds."""
    process.kill()
    process.wait()


def stop_all_threads(process: "subprocess.Popen[bytes]") -> None:
    """Returns when none of them runs any more. Until the signal has come to one of them, which takes as long as the
    machine is busy, the others go on answering.
    """
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
    assert process.poll() is None, "ended before it stood still"


def start_program(program: Path, folder: Path, *switches: str) -> "subprocess.Popen[bytes]":
    with (folder / f"{program.name}.log").open("ab") as log:
        return subprocess.Popen(
            [str(program), *switches],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=folder,
            env={"PATH": "/usr/bin:/bin", "HOME": str(folder), **LETTERS.get(program.name, {})},
        )


@contextmanager
def running(program: Path, folder: Path, *switches: str) -> Iterator["subprocess.Popen[bytes]"]:
    process = start_program(program, folder, *switches)
    try:
        yield process
    finally:
        end(process)


@contextmanager
def api_server(folder: Path, *more: str) -> Iterator[ApiServer]:
    """Ready, with the kinds of Kueue and of the MPI operator; `more` switches of its own. Raises NotCompiled."""
    programs = find_programs("etcd", "kube-apiserver", "kube-controller-manager", "mpi-operator")
    manifests = find_manifests()
    ports = free_port(), free_port(), free_port()
    write_secrets(folder)
    write_encryption(folder)
    with ExitStack() as stack:
        stack.enter_context(running(programs["etcd"], folder, *switches_of_etcd(folder, *ports[:2])))
        words = (*switches_of_server(folder, ports[2], ports[0]), *more)
        server = ApiServer(
            folder, ports[2], lambda: start_program(programs["kube-apiserver"], folder, *words), programs
        )
        stack.callback(server.stop)
        stack.callback(server.api.close)
        add_kinds(server.api, (manifests["kueue"], manifests["mpi_operator"]))
        server.has_kinds = True
        server.wait_until_served()
        stack.enter_context(
            running(programs["kube-controller-manager"], folder, *switches_of_controllers(server))
        )
        yield server


@contextmanager
def mpi_operator(server: ApiServer) -> Iterator[None]:
    """Upstream's own, which makes pods of MPIJobs, as quick as on an installed cluster."""
    file, port = server.kubeconfig(ADMINISTRATOR), free_port()
    switches = (
        f"--kubeConfig={file}",
        f"--monitoring-port={port}",
        "--lock-namespace=default",
        "--alsologtostderr",
        *rates_of("kubernetes_addons", "kubernetes_addons_mpi_rates"),
    )
    with running(server.programs["mpi-operator"], server.folder, *switches):
        yield


def switches_of_etcd(folder: Path, port: int, peers: int) -> tuple[str, ...]:
    """Nothing of it outlives the tests."""
    own, peer = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{peers}"
    return (
        *(f"--data-dir={folder}/etcd", "--unsafe-no-fsync", "--log-level=error"),
        *(f"--listen-client-urls={own}", f"--advertise-client-urls={own}"),
        *(f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}"),
        f"--initial-cluster=default={peer}",
    )


def switches_of_server(folder: Path, port: int, etcd: int) -> tuple[str, ...]:
    return (
        *(f"--etcd-servers=http://127.0.0.1:{etcd}", f"--cert-dir={folder}/pki"),
        *("--bind-address=127.0.0.1", f"--secure-port={port}", "--authorization-mode=RBAC"),
        *(f"--token-auth-file={folder}/tokens.csv", "--service-cluster-ip-range=10.96.0.0/16"),
        "--service-account-issuer=https://kubernetes.default.svc",
        *(
            f"--service-account-key-file={folder}/sa.key",
            f"--service-account-signing-key-file={folder}/sa.key",
        ),
        *("--endpoint-reconciler-type=none", f"--encryption-provider-config={encryption_of(folder)}"),
    )


def switches_of_controllers(server: ApiServer) -> tuple[str, ...]:
    return (
        *(f"--kubeconfig={server.kubeconfig(ADMINISTRATOR)}", f"--controllers={CONTROLLERS}"),
        *("--leader-elect=false", "--secure-port=0"),
        *rates_of("kubernetes", "kubernetes_controller_requests"),
    )


def rates_of(role: str, name: str) -> list[str]:
    """Switches for as much as the role lets a program do per second."""
    return [f"--{switch}={number}" for switch, number in value_of(role, name).items()]


def write_secrets(folder: Path) -> None:
    """Four users by name, and the key that signs the tokens of service accounts."""
    (folder / "tokens.csv").write_text(
        f"token-of-{ADMINISTRATOR},{ADMINISTRATOR},1,system:masters\ntoken-of-{SCHEDULER},{SCHEDULER},2\n"
        f"token-of-{NOBODY},{NOBODY},3\ntoken-of-{WATCHER},{WATCHER},4\n"
    )
    key = ["openssl", "genrsa", "-out", str(folder / "sa.key"), "2048"]
    subprocess.run(key, check=True, capture_output=True, env={"PATH": os.environ["PATH"]})


def encryption_of(folder: Path) -> Path:
    return folder / "encryption" / "encryption.yaml"


def write_encryption(folder: Path) -> None:
    """By the role's own program."""
    known = {"kubernetes_encryption": str(encryption_of(folder)), "kubernetes_folder": str(folder)}
    program = render("kubernetes", "encryption", **known)
    subprocess.run(["sh", "-c", program], check=True, env={"PATH": os.environ["PATH"]})


def add_kinds(api: KubernetesApi, manifests: tuple[Path, ...]) -> None:
    for manifest in manifests:
        for thing in yaml.load_all(
            manifest.read_text(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        ):
            if thing and thing["kind"] == "CustomResourceDefinition":
                api.apply(without_conversion(thing))


def can_list(api: KubernetesApi, kind: str) -> bool:
    """A kind that was just made answers 404, then 429, and a moment later with what there is."""
    try:
        api.list_all(kind)
    except (ApiUnreachable, ApiRefused):
        return False
    return True


def without_conversion(kind: dict[str, Any]) -> dict[str, Any]:
    """Only the version that is used here, which then is the stored one too."""
    spec = kind["spec"]
    newest = [each for each in spec["versions"] if each["name"] in SERVED] or spec["versions"][-1:]
    versions = [each | {"storage": each is newest[-1], "served": True} for each in newest]
    spec = {key: value for key, value in spec.items() if key != "conversion"} | {"versions": versions}
    return {**kind, "spec": spec, "metadata": {"name": kind["metadata"]["name"]}}
