"""Wheels are installed offline, what exists only as source is compiled once, and everybody may run the result."""

import stat
from pathlib import Path

import psutil
import pytest

from tests.unit.worker.environments.fake_tools import Site
from worker.environments import installation
from worker.environments.build_steps import BuildStep, BuildStepProgress
from worker.environments.command_runner import CommandRunner
from worker.environments.installation import (
    EnvironmentBuild,
    compile_wheel,
    count_parallel_compilers,
    install_compiled_wheel,
    install_wheels,
    make_readable_to_all,
)
from worker.environments.wheels import WheelFolder, sha256_of_file


@pytest.fixture
def shop(site: Site) -> EnvironmentBuild:
    for folder in (site.log.parent, site.folder / "building", site.folder / "wheels-1"):
        folder.mkdir()
    (site.folder / "wheels-1/slow-1.0.tar.gz").write_text("the source")
    return EnvironmentBuild(
        description=site.description,
        wheels=WheelFolder(site.folder / "wheels-1"),
        folder=site.folder / "building",
        uv=site.uv,
        python=site.python,
        commands=CommandRunner(site.log, "mark"),
    )


def calls(site: Site) -> list[str]:
    return (site.folder / "control/calls").read_text().splitlines()


def test_wheels_are_installed_offline_and_held_to_their_hashes(site: Site, shop: EnvironmentBuild) -> None:
    install_wheels(shop, BuildStepProgress(site.report, BuildStep.INSTALL))
    venv, install = calls(site)
    assert venv.startswith("uv venv") and "--relocatable" in venv and venv.endswith(str(shop.environment))
    assert "--offline --no-index" in install and "--require-hashes" in install
    assert f"--find-links {shop.wheels.path}" in install
    assert install.endswith(str(site.description.requirements))
    assert (shop.environment / "bin/python").exists()
    assert [share for _, share, _ in site.reports] == [0.1, 1.0]


def test_what_is_compiled_is_kept_beside_the_wheels_and_installed_by_its_sum(
    site: Site, shop: EnvironmentBuild
) -> None:
    install_wheels(shop, BuildStepProgress(site.report, BuildStep.INSTALL))
    wheel = compile_wheel(shop, BuildStepProgress(site.report, BuildStep.COMPILE))
    assert wheel.parent == shop.wheels.path and shop.wheels.find_compiled("slow") == wheel
    assert any(detail == "mpi_ops.cc" for _, _, detail in site.reports)
    install_compiled_wheel(shop, wheel, BuildStepProgress(site.report, BuildStep.INSTALL))
    pin = shop.folder / "compiled.txt"
    assert pin.read_text() == f"slow==1.0 --hash=sha256:{sha256_of_file(wheel)}\n"
    assert calls(site)[-1].endswith(str(pin))


def test_everybody_may_read_what_was_built_and_run_what_is_a_program(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir(0o700)
    for name, mode in (("program", 0o700), ("library", 0o600), ("folder/shared", 0o666)):
        (tmp_path / name).touch()
        (tmp_path / name).chmod(mode)
    (tmp_path / "link").symlink_to("nowhere")
    make_readable_to_all(tmp_path)
    modes = {
        path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*") if not path.is_symlink()
    }
    assert modes == {"folder": 0o755, "program": 0o755, "library": 0o644, "shared": 0o644}


@pytest.mark.parametrize(("free", "cores", "expected"), [(0, 8, 1), (4_600_000_000, 8, 3), (1 << 40, 2, 2)])
def test_as_many_compilers_run_as_memory_and_cores_carry(
    monkeypatch: pytest.MonkeyPatch, free: int, cores: int, expected: int
) -> None:
    memory = psutil.virtual_memory()._replace(available=free)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: memory)
    monkeypatch.setattr(installation.os, "sched_getaffinity", lambda pid: set(range(cores)))
    assert count_parallel_compilers() == expected
