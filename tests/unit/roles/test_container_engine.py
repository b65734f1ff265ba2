"""containerd's configuration, in the version that each containerd reads."""

import tomllib
from typing import Any

import pytest

from tests.unit.roles.rendering import render, value_of

GPU = [{"vendor": "0x10de", "class": "0x030200", "device": "0x2330"}]


def config(version: str, gpus: bool = False, **given: Any) -> dict[str, Any]:
    given.setdefault("ansible_facts", {"distribution": "Debian"})
    lines = [version, "1.1.5+ds1-1+deb12u1", "safe", "here", "distribution"]
    text = render(
        "container_engine",
        "groundcrew.toml",
        container_engine_known={"stdout_lines": lines},
        container_engine_has_gpus=gpus,
        **given,
    )
    return tomllib.loads(text)


@pytest.mark.parametrize(
    ("version", "form", "runtime", "images"),
    [
        ("1.6.20~ds1-1+deb12u3", 2, "io.containerd.grpc.v1.cri", "io.containerd.grpc.v1.cri"),
        ("1.7.28-0ubuntu1~24.04.1", 2, "io.containerd.grpc.v1.cri", "io.containerd.grpc.v1.cri"),
        ("2.0.0-1", 3, "io.containerd.cri.v1.runtime", "io.containerd.cri.v1.images"),
        ("1:2.2.1-0ubuntu1", 3, "io.containerd.cri.v1.runtime", "io.containerd.cri.v1.images"),
    ],
)
def test_each_containerd_reads_its_own_version_of_the_configuration(
    version: str, form: int, runtime: str, images: str
) -> None:
    read = config(version)
    assert read["version"] == form and set(read["plugins"]) == {runtime, images}
    runc = read["plugins"][runtime]["containerd"]["runtimes"]["runc"]
    assert runc == {"runtime_type": "io.containerd.runc.v2", "options": {"SystemdCgroup": True}}
    assert read["plugins"][images]["registry"] == {"config_path": "/etc/containerd/certs.d"}


def test_the_folder_of_network_plugins_has_the_name_that_this_version_knows() -> None:
    assert config("2.0.5-1")["plugins"]["io.containerd.cri.v1.runtime"]["cni"] == {"bin_dir": "/usr/lib/cni"}
    assert config("2.1.0-1")["plugins"]["io.containerd.cri.v1.runtime"]["cni"] == {
        "bin_dirs": ["/usr/lib/cni"]
    }


@pytest.mark.parametrize(
    ("version", "by_cdi"), [("1.6.20~ds1-1", False), ("1.7.0-1", True), ("2.2.1-1", True)]
)
def test_gpus_come_by_cdi_or_else_by_a_handler_of_their_own(version: str, by_cdi: bool) -> None:
    for gpus in (False, True):
        cri = next(iter(config(version, gpus)["plugins"].values()))
        assert cri.get("enable_cdi", False) is by_cdi
        assert ("nvidia" in cri["containerd"]["runtimes"]) is (gpus and not by_cdi)


@pytest.mark.parametrize("version", ["1.6.20~ds1-1", "1.7.28-0ubuntu1", "2.1.0-1"])
def test_kubernetes_image_of_a_pods_network_is_named_in_the_way_that_this_version_reads(version: str) -> None:
    assert "pause" not in str(config(version))
    plugins = config(version, groundcrew_kubernetes=True)["plugins"]
    if version.startswith("2"):
        named = plugins["io.containerd.cri.v1.images"]["pinned_images"]["sandbox"]
    else:
        named = plugins["io.containerd.grpc.v1.cri"]["sandbox_image"]
    assert named.startswith("registry.k8s.io/pause:")


@pytest.mark.parametrize("version", ["1.6.20~ds1-1", "2.1.0-1"])
def test_a_container_is_not_asked_to_shield_itself_from_the_killer(version: str) -> None:
    for kind, is_container in (("docker", True), ("kvm", False)):
        facts = {"distribution": "Debian", "virtualization_type": kind}
        runtime = next(iter(config(version, ansible_facts=facts)["plugins"].values()))
        assert runtime.get("restrict_oom_score_adj", False) is is_container


@pytest.mark.parametrize(
    ("distribution", "least"),
    [("Debian", "1.1.5+ds1-1+deb12u1"), ("Ubuntu", "1.3.3-0ubuntu1~24.04.2")],
)
def test_each_distribution_names_its_least_safe_runc_and_the_advisory(distribution: str, least: str) -> None:
    runc = value_of("container_engine", "container_engine_runc", ansible_facts={"distribution": distribution})
    assert runc["at_least"] == least
    assert "CVE-" in runc["source"] and not set(runc["open"]) & set(runc["source"].split(", "))
