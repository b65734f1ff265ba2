"""Small programs of the tests as images: the stand-in for a device plugin, and a pod that answers and asks."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.containers.engine import command_line
from tests.hosts.machines.testbed import Host
from worker.oci.image_archive import ImageConfig, write_docker_archive
from worker.oci.layers import add_file_to_layer, open_layer_tar, plain_layer

FOLDER = Path(__file__).parent
STAND_IN = "docker.io/gc/stand-in-device-plugin:1"
PROBE = "docker.io/gc/probe:1"


@dataclass(frozen=True)
class Program:
    source: str
    image: str


PROGRAMS = (Program("stand_in_device_plugin", STAND_IN), Program("probe", PROBE))


def build(program: Program, folder: Path) -> Path:
    """The image's archive; seconds where Go has compiled it before."""
    binary = folder / program.source
    words = ["go", "build", "-p", "1", "-trimpath", "-ldflags", "-s -w", "-o", str(binary), "."]
    path = f"/usr/local/go/bin:{os.environ['PATH']}"
    environment = {**os.environ, "CGO_ENABLED": "0", "PATH": path}
    subprocess.run(words, cwd=FOLDER / program.source, env=environment, check=True)
    layer = folder / f"{program.source}.layer"
    with open_layer_tar(layer) as tar:
        add_file_to_layer(tar, program.source, binary)
    archive = folder / f"{program.source}.tar"
    config = ImageConfig(entrypoint=(f"/{program.source}",))
    write_docker_archive(archive, program.image, [plain_layer(layer, program.source)], config)
    return archive


def bring(hosts: list[Host], archive: Path) -> None:
    """Past every registry, into each host's containerd."""
    for host in hosts:
        words = ["exec", "-i", host.name, "ctr", "--namespace", "k8s.io", "images", "import", "-"]
        with archive.open("rb") as content:
            subprocess.run([command_line(), *words], stdin=content, check=True, capture_output=True)
