"""The sources map lists all parts of a bundle, and every place that repeats a part of it agrees."""

import re
from pathlib import Path

import yaml

from tests.kwok.program import MODULE, PINNED
from worker.bundle.build import CONTAINER_ENGINE
from worker.bundle.sources import TOOLKIT, read_bundle_sources

ROOT = Path(__file__).parents[4]
SOURCES = read_bundle_sources()
NAMES = re.compile(r"names: \[([^\]]*)\]")


def test_the_simulated_kubelet_of_the_tests_is_pinned_likewise() -> None:
    pinned = {name: (Path(PINNED) / name).read_text() for name in ("go.mod", "go.sum")}
    assert f"{MODULE.path} {MODULE.version}" in pinned["go.mod"]
    assert f"{MODULE.path} {MODULE.version} h1:" in pinned["go.sum"]


def test_images_carry_the_versions_that_are_built() -> None:
    for name in ("kube_apiserver", "kube_controller_manager", "kube_scheduler", "kube_proxy"):
        assert SOURCES.images[name].endswith(f":v{SOURCES.kubernetes}")
    assert SOURCES.kubernetes_packages.startswith(f"{SOURCES.kubernetes}-")
    assert SOURCES.repository.uri.endswith(f"/v{SOURCES.kubernetes.rpartition('.')[0]}/deb/")
    tags = {"coredns": "coredns", "flannel": "flannel", "kueue": "kueue"} | {
        "mpi_operator": "mpi-operator",
        "nvidia_device_plugin": "nvidia-device-plugin",
        "rdma_device_plugin": "rdma-shared-device-plugin",
    }
    for image, module in tags.items():
        tag = SOURCES.images[image].rpartition(":")[2]
        assert tag.removeprefix("v") == SOURCES.modules[module].version.removeprefix("v")
    etcd = SOURCES.images["etcd"].rpartition(":")[2]
    assert SOURCES.modules["etcd"].version == f"v{etcd.partition('-')[0]}"


def test_every_package_that_a_role_names_comes_with_the_bundle() -> None:
    named = set()
    for file in (ROOT / "roles").glob("*/tasks/*.yml"):
        text = file.read_text()
        for task in re.findall(r"present_packages:\n\s+" + NAMES.pattern, text):
            named |= {each.strip().strip('"').partition(">=")[0] for each in task.split(",")}
    inbox = yaml.safe_load((ROOT / "inventory/group_vars/all/sources.yml").read_text())
    named |= set(inbox["groundcrew_sources"]["mofed"]["inbox"]["packages"])
    assert {"python3-venv", "nginx-light", "runc", "perftest"} <= named
    assert named <= {*SOURCES.distribution, *CONTAINER_ENGINE}


def test_the_toolkits_packages_are_those_that_its_role_installs() -> None:
    role = yaml.safe_load((ROOT / "roles/nvidia_container_toolkit/vars/main.yml").read_text())
    assert role["nvidia_container_toolkit_packages"] == list(TOOLKIT)


def test_a_vendors_packages_are_pinned() -> None:
    vendors = SOURCES.vendors["debian"]
    driver = vendors["nvidia_driver"]
    assert {"nvidia-driver-cuda", "nvidia-fabricmanager", "linux-headers-amd64"} <= set(driver.packages)
    assert "\nPin: version 580.*\n" in driver.preferences and driver.components == ("contrib",)
    assert "nvidia-container-toolkit=1.20.0-1" in vendors["nvidia_container_toolkit"].packages
    assert vendors["doca_ofed"].packages == ("doca-ofed",)
    assert vendors["doca_ofed"].repository.uri.endswith("/debian12/x86_64/")
    assert "nvidia_driver" not in SOURCES.vendors["ubuntu"], "the driver is the distribution's own there"
