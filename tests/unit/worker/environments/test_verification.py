"""A finished environment is tried, and its table of contents is read from what is installed."""

import os

import pytest

from cluster.domain.images import LibraryVersion
from tests.unit.worker.environments.fake_tools import Site
from worker.environments.build_steps import BuildStep, BuildStepProgress
from worker.environments.command_runner import CommandRunner
from worker.environments.errors import BuiltButNotWorking, NoSpaceForBuild
from worker.environments.installation import EnvironmentBuild, install_wheels
from worker.environments.verification import list_environment_contents, select_contents, verify_environment
from worker.environments.wheels import WheelFolder


@pytest.fixture
def shop(site: Site) -> EnvironmentBuild:
    for folder in (site.log.parent, site.folder / "building"):
        folder.mkdir()
    wheels, commands = WheelFolder(site.folder / "wheels-1"), CommandRunner(site.log, "mark")
    folder = site.folder / "building"
    shop = EnvironmentBuild(site.description, wheels, folder, site.uv, site.python, commands)
    install_wheels(shop, progress_of(site))
    for path in (shop.environment, *shop.environment.rglob("*")):
        path.chmod(0o755)
    return shop


def progress_of(site: Site) -> BuildStepProgress:
    return BuildStepProgress(site.report, BuildStep.VERIFY)


def test_an_environment_that_works_is_tried_by_somebody_without_rights(
    site: Site, shop: EnvironmentBuild
) -> None:
    program = shop.environment / "bin/python"
    program.write_text(f"#!/bin/sh\nid -u >{site.folder}/control/user\n")
    verify_environment(shop, progress_of(site))
    expected = 65534 if os.geteuid() == 0 else os.geteuid()
    assert (site.folder / "control/user").read_text() == f"{expected}\n"
    assert site.reports[-1][1] == 1.0


def test_an_environment_that_does_not_work_is_said_to_be_built(site: Site, shop: EnvironmentBuild) -> None:
    site.trouble("broken")
    with pytest.raises(BuiltButNotWorking) as failed:
        verify_environment(shop, progress_of(site))
    assert failed.value.data["line"] == "NotFoundError: libx.so"


def test_a_full_disk_is_no_fault_of_the_environment(site: Site, shop: EnvironmentBuild) -> None:
    (shop.environment / "bin/python").write_text("#!/bin/sh\necho No space left on device; exit 1\n")
    with pytest.raises(NoSpaceForBuild):
        verify_environment(shop, progress_of(site))


def test_the_contents_are_those_that_are_installed(site: Site, shop: EnvironmentBuild) -> None:
    assert list_environment_contents(shop, progress_of(site)) == (
        LibraryVersion("python", "3.11.2", "purpose.language"),
        LibraryVersion("six", "1.17.0", "purpose.arrays"),
    )


def test_a_library_that_is_not_installed_is_named() -> None:
    with pytest.raises(BuiltButNotWorking) as failed:
        select_contents({"numpy": "purpose.arrays", "six": "purpose.arrays"}, {"six": "1"})
    assert failed.value.data["line"] == "not installed: numpy"
