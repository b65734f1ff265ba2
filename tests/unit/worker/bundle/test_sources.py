"""What a bundle is made of stands in the sources map, and every place that repeats a part of it agrees."""

import re
from pathlib import Path

import yaml

from tests.kwok.program import MODULE, PINNED
from worker.bundle.go_programs import FOLDERS, OWN_PACKAGE, PROGRAMS, module_of_program
from worker.bundle.kubernetes_images import IMAGE_RECIPES
from worker.bundle.kubernetes_manifests import MODULE_MANIFESTS, join_documents
from worker.bundle.sources import TOOLKIT, read_bundle_sources

ROOT = Path(__file__).parents[4]
SOURCES = read_bundle_sources()
NAMES = re.compile(r"names: \[([^\]]*)\]")


def test_every_program_is_pinned_by_version_and_sum() -> None:
    for program in PROGRAMS:
        module = module_of_program(program, SOURCES.modules)
        pinned = (FOLDERS / program.folder / "go.mod").read_text()
        if module is None:
            assert program.package == OWN_PACKAGE and (FOLDERS / program.folder / "main.go").exists()
            continue
        assert f"{module.path} {module.version}" in pinned, program.name
        assert f"{module.path} {module.version} h1:" in (FOLDERS / program.folder / "go.sum").read_text()


def test_the_simulated_kubelet_of_the_tests_is_pinned_likewise() -> None:
    pinned = {name: (Path(PINNED) / name).read_text() for name in ("go.mod", "go.sum")}
    assert f"{MODULE.path} {MODULE.version}" in pinned["go.mod"]
    assert f"{MODULE.path} {MODULE.version} h1:" in pinned["go.sum"]


def test_every_image_of_the_map_is_built_of_programs_that_are() -> None:
    assert {recipe.image for recipe in IMAGE_RECIPES} == set(SOURCES.images)
    built = {program.name for program in PROGRAMS}
    assert {name for recipe in IMAGE_RECIPES for name in recipe.programs.values()} <= built


def test_every_manifest_of_the_map_is_taken_from_a_module() -> None:
    assert set(MODULE_MANIFESTS) == set(SOURCES.manifests)
    assert {taken.module for taken in MODULE_MANIFESTS.values()} <= set(SOURCES.modules)


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
    assert named <= set(SOURCES.distribution)


def test_an_image_without_a_tag_gets_the_one_of_the_map() -> None:
    text = join_documents(
        ["kind: A\nimage: ghcr.io/x/plugin\n", "- image: ghcr.io/x/plugin:v1"], "ghcr.io/x/plugin:v2"
    )
    assert text == "kind: A\nimage: ghcr.io/x/plugin:v2\n---\n- image: ghcr.io/x/plugin:v1\n"


def test_the_toolkits_packages_are_those_that_its_role_installs() -> None:
    role = yaml.safe_load((ROOT / "roles/nvidia_container_toolkit/vars/main.yml").read_text())
    assert role["nvidia_container_toolkit_packages"] == list(TOOLKIT)


def test_a_vendors_packages_are_pinned() -> None:
    vendors = SOURCES.vendors["debian"]
    assert "nvidia-open-580=580.105.08-1" in vendors["nvidia_driver"].packages
    assert "linux-headers-amd64" in vendors["nvidia_driver"].packages
    assert vendors["doca_ofed"].repository.uri.endswith("/debian12/x86_64/")
    assert "nvidia_driver" not in SOURCES.vendors["ubuntu"], "the driver is the distribution's own there"
