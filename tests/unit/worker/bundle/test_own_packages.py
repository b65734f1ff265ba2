"""Our own packages have upstream's names, versions and needs, and dpkg takes them."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import IS_CI
from worker.bundle.build_cache import BuildCache
from worker.bundle.own_packages import DebPackage, build_deb, flannel_package, kubernetes_packages

NAMES = ("kubectl", "kubelet", "kubeadm")


def places(folder: Path, *names: str) -> dict[str, Path]:
    for name in names:
        (folder / name).write_text(name * 1000)
    return {name: folder / name for name in names}


def test_kubernetes_packages_need_each_other_in_one_version(tmp_path: Path) -> None:
    programs = places(tmp_path, *NAMES)
    packages = {each.name: each for each in kubernetes_packages("1.34.4-1.1", programs, programs)}
    assert set(packages) == set(NAMES) and packages["kubectl"].depends == ()
    assert packages["kubeadm"].depends == ("kubelet (= 1.34.4-1.1)", "kubectl (= 1.34.4-1.1)")
    assert "containernetworking-plugins" in packages["kubelet"].depends
    assert packages["kubelet"].file_name == "kubelet_1.34.4-1.1_amd64.deb"
    units = [place for place in packages["kubelet"].files if place.startswith("usr/lib/systemd/system/")]
    assert len(units) == 2 and all(packages["kubelet"].files[place].exists() for place in units)
    assert packages["kubectl"].files["usr/bin/kubectl"] == programs["kubectl"]


def test_flannels_plugin_lies_where_the_distribution_has_the_others(tmp_path: Path) -> None:
    package = flannel_package("1.7.1", tmp_path / "flannel", tmp_path / "licence")
    assert package.files["usr/lib/cni/flannel"] == tmp_path / "flannel"
    assert package.depends == ("containernetworking-plugins",)


@pytest.fixture
def built(tmp_path: Path) -> Path:
    if shutil.which("dpkg-deb") is None:
        (pytest.fail if IS_CI else pytest.skip)("there is no dpkg-deb on this machine")
    files = places(tmp_path, "program", "licence")
    placed = {"usr/bin/gc-hello": files["program"], "usr/share/doc/gc-hello/copyright": files["licence"]}
    package = DebPackage("gc-hello", "1.0-1", ("libc6", "nftables"), "a test", placed)
    build_cache = BuildCache(tmp_path / "cache", tmp_path / "log")
    build_deb(package, tmp_path / package.file_name, build_cache)
    build_deb(package, tmp_path / "again.deb", build_cache)
    return tmp_path / package.file_name


def asked(*words: str | Path) -> str:
    return subprocess.run(["dpkg-deb", *words], check=True, capture_output=True, text=True).stdout


def test_dpkg_reads_name_version_and_needs(built: Path) -> None:
    fields = asked("--field", built, "Package", "Version", "Architecture", "Depends")
    assert fields.splitlines() == [
        "Package: gc-hello",
        "Version: 1.0-1",
        "Architecture: amd64",
        "Depends: libc6, nftables",
    ]


def test_programs_may_be_run_and_everything_is_roots(built: Path) -> None:
    lines = {line.split()[-1]: line.split()[:2] for line in asked("--contents", built).splitlines()}
    assert lines["./usr/bin/gc-hello"] == ["-rwxr-xr-x", "root/root"]
    assert lines["./usr/share/doc/gc-hello/copyright"] == ["-rw-r--r--", "root/root"]


def test_the_same_files_make_the_same_package(built: Path) -> None:
    assert built.read_bytes() == built.with_name("again.deb").read_bytes()
    assert not list(built.parent.glob(".*.tree"))
