"""The real Kueue beside the tests' API server: controllers and queue, and its webhooks where a test wants them."""

import base64
import socket
import subprocess
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from tests.free_ports import free_port
from tests.kubernetes.api_server import ADMINISTRATOR, ApiServer, running, until
from tests.kubernetes.compiled_programs import find_manifests, find_programs
from worker.kubernetes.api_client import KubernetesObject
from worker.kubernetes.object_kinds import object_head

JOBS = "batch/job"
MPI_JOBS = "kubeflow.org/mpijob"
ASKED = {JOBS: ("mjob.kb.io", "vjob.kb.io"), MPI_JOBS: ("mmpijob.kb.io", "vmpijob.kb.io")}
"""Webhooks of what it queues, by its frameworks, and those of its own objects."""
READER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
ALWAYS = ("mworkload.kb.io", "vworkload.kb.io")


@contextmanager
def kueue(server: ApiServer, frameworks: Collection[str] = (JOBS,), is_asked: bool = False) -> Iterator[None]:
    """`is_asked`: its webhooks hold back what is made, as on an installed cluster. Raises NotCompiled."""
    program = find_programs("kueue")["kueue"]
    folder, port = server.folder / "kueue", free_port()
    folder.mkdir(exist_ok=True)
    settings = folder / "settings.yaml"
    settings.write_text(yaml.safe_dump(settings_of(make_certificate(folder), port, frameworks)))
    switches = (
        f"--config={settings}",
        f"--kubeconfig={server.kubeconfig(ADMINISTRATOR)}",
        "--feature-gates=VisibilityOnDemand=false",
    )
    # Where it does not make its certificates itself it wants some in /etc/kueue: in an /etc that it alone sees.
    words = ("--mount", "--propagation", "private", "sh", "-c", ITS_OWN_ETC, "sh", str(folder / "etc"))
    with running(Path("/usr/bin/unshare"), folder, *words, str(program), *switches):
        if is_asked:
            until(lambda: is_listening(port), "that Kueue answers")
            let_be_asked(server, port, frameworks)
        try:
            yield
        finally:
            if is_asked:
                let_be(server)


ITS_OWN_ETC = 'etc=$1; shift; mount --bind "$etc" /etc && exec "$@"'


def is_listening(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def let_be_asked(server: ApiServer, port: int, frameworks: Collection[str]) -> None:
    """Upstream's own webhooks of these kinds, at an address in place of a service."""
    wanted = {*ALWAYS, *(name for each in frameworks for name in ASKED[each])}
    certificate = (certificates_in(server.folder / "kueue") / "tls.crt").read_bytes()
    for thing in configurations():
        hooks = [each for each in thing["webhooks"] if each["name"] in wanted]
        for hook in hooks:
            path = hook["clientConfig"]["service"]["path"]
            hook["clientConfig"] = {
                "url": f"https://127.0.0.1:{port}{path}",
                "caBundle": base64.b64encode(certificate).decode(),
            }
        server.api.apply(object_head(thing["kind"], thing["metadata"]["name"]) | {"webhooks": hooks})


def let_be(server: ApiServer) -> None:
    """Nobody answers any more: without this nothing could be made."""
    for thing in configurations():
        server.api.delete(thing["kind"], thing["metadata"]["name"])


def configurations() -> list[KubernetesObject]:
    kinds = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
    return [thing for thing in shipped() if thing["kind"] in kinds]


def shipped() -> list[KubernetesObject]:
    """All of upstream's manifest, which an installed cluster is given too."""
    return [each for each in yaml.load_all(find_manifests()["kueue"].read_text(), Loader=READER) if each]


def upstream_settings() -> dict[str, object]:
    """Its limits of requests and of work at once among them."""
    texts = [each["data"] for each in shipped() if each["metadata"]["name"] == "kueue-manager-config"]
    return yaml.safe_load(texts[0]["controller_manager_config.yaml"])  # type: ignore[no-any-return]


def settings_of(certificates: Path, port: int, frameworks: Collection[str]) -> dict[str, object]:
    """https://kueue.sigs.k8s.io/docs/reference/kueue-config.v1beta2/"""
    return upstream_settings() | {
        "namespace": "kube-system",
        "health": {"healthProbeBindAddress": f"127.0.0.1:{free_port()}"},
        "metrics": {"bindAddress": "0"},
        "webhook": {"port": port, "host": "127.0.0.1", "certDir": str(certificates)},
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
        "integrations": {"frameworks": list(frameworks)},
    }


def certificates_in(folder: Path) -> Path:
    return folder / "etc" / "kueue" / "metrics" / "certs"


def make_certificate(folder: Path) -> Path:
    folder = certificates_in(folder)
    folder.mkdir(parents=True, exist_ok=True)
    words = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    words += ["-keyout", str(folder / "tls.key"), "-out", str(folder / "tls.crt"), "-subj", "/CN=localhost"]
    words += ["-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(["openssl", *words], check=True, capture_output=True)
    return folder
