"""The real Kueue beside the tests' API server: its controllers and its queue; its webhooks are not asked here."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from tests.api_server import ADMINISTRATOR, ApiServer, running
from tests.ports import free_port
from tests.shelf import find_programs


@contextmanager
def kueue(server: ApiServer) -> Iterator[None]:
    """Raises NotCompiled."""
    program = find_programs("kueue")["kueue"]
    folder = server.folder / "kueue"
    folder.mkdir(exist_ok=True)
    settings = folder / "settings.yaml"
    settings.write_text(yaml.safe_dump(settings_of(make_certificate(folder))))
    switches = (
        f"--config={settings}",
        f"--kubeconfig={server.kubeconfig(ADMINISTRATOR)}",
        "--feature-gates=VisibilityOnDemand=false",
    )
    # Where it does not make its certificates itself it wants some in /etc/kueue: in an /etc that it alone sees.
    words = ("--mount", "--propagation", "private", "sh", "-c", ITS_OWN_ETC, "sh", str(folder / "etc"))
    with running(Path("/usr/bin/unshare"), folder, *words, str(program), *switches):
        yield


ITS_OWN_ETC = 'etc=$1; shift; mount --bind "$etc" /etc && exec "$@"'


def settings_of(certificates: Path) -> dict[str, object]:
    """https://kueue.sigs.k8s.io/docs/reference/kueue-config.v1beta2/"""
    return {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "namespace": "kube-system",
        "health": {"healthProbeBindAddress": f"127.0.0.1:{free_port()}"},
        "metrics": {"bindAddress": "0"},
        "webhook": {"port": free_port(), "host": "127.0.0.1", "certDir": str(certificates)},
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
        "integrations": {"frameworks": ["batch/job"]},
    }


def make_certificate(folder: Path) -> Path:
    folder = folder / "etc" / "kueue" / "metrics" / "certs"
    folder.mkdir(parents=True, exist_ok=True)
    words = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    words += ["-keyout", str(folder / "tls.key"), "-out", str(folder / "tls.crt"), "-subj", "/CN=localhost"]
    subprocess.run(["openssl", *words], check=True, capture_output=True)
    return folder
