"""Pinned wheels are fetched once, checked before each use, and kept with what was compiled of them."""

import json
from pathlib import Path

import pytest

from tests.unit.worker.environments.fake_tools import Site
from worker.environments.build_steps import BuildStep, BuildStepProgress
from worker.environments.command_runner import CommandRunner
from worker.environments.errors import NoNetwork
from worker.environments.wheels import (
    SUMS,
    WheelFolder,
    count_pins,
    download_pinned_files,
    download_wheels,
    sha256_of_file,
)


@pytest.fixture
def commands(site: Site) -> CommandRunner:
    site.log.parent.mkdir()
    return CommandRunner(site.log, "mark")


def progress_of(site: Site) -> BuildStepProgress:
    return BuildStepProgress(site.report, BuildStep.DOWNLOAD)


def test_the_folder_has_every_file_and_its_sum(site: Site, commands: CommandRunner) -> None:
    wheels = WheelFolder(site.folder / "wheels-1")
    download_wheels(site.description, wheels, site.python, commands, progress_of(site))
    names = ["six-1.17.0-py2.py3-none-any.whl", "slow-1.0.tar.gz"]
    assert json.loads((wheels.path / SUMS).read_text()) == {
        name: sha256_of_file(wheels.path / name) for name in names
    }
    assert wheels.is_intact() and not wheels.partial.exists()
    assert wheels.find_source("slow") == wheels.path / "slow-1.0.tar.gz"


def test_progress_names_the_file_that_is_fetched(site: Site, commands: CommandRunner) -> None:
    download_pinned_files(
        [site.description.requirements],
        site.description,
        site.folder / "work/files",
        site.python,
        commands,
        progress_of(site),
    )
    shares = [share for _, share, _ in site.reports]
    assert shares == sorted(shares) and 0 < shares[-1] <= 1
    assert "six-1.17.0-py2.py3-none-any.whl" in {detail for _, _, detail in site.reports}


def test_what_other_folders_have_is_offered_to_pip(site: Site, commands: CommandRunner) -> None:
    more = site.folder / "more.txt"
    more.write_text("six==1.17.0 --hash=sha256:00\n")
    requirements = [site.description.requirements, more]
    kept = [Path("/kept/one"), Path("/kept/two")]
    files = site.folder / "work/files"
    download_pinned_files(
        requirements, site.description, files, site.python, commands, progress_of(site), kept
    )
    calls = (site.folder / "control/calls").read_text().splitlines()
    fetched = [line for line in calls if "pip download" in line]
    assert len(fetched) == 3 and all(
        "--find-links /kept/one --find-links /kept/two" in line for line in fetched
    )
    assert all("--require-hashes --no-deps" in line for line in fetched)
    assert fetched[1].endswith(str(more)) and "--no-binary :all:" in fetched[2]


def test_an_interrupted_download_keeps_what_it_has(site: Site, commands: CommandRunner) -> None:
    wheels = WheelFolder(site.folder / "wheels-1")
    (wheels.partial / "files").mkdir(parents=True)
    (wheels.partial / "files/kept.whl").write_text("kept")
    site.trouble("no_network")
    with pytest.raises(NoNetwork):
        download_wheels(site.description, wheels, site.python, commands, progress_of(site))
    assert (wheels.partial / "files/kept.whl").exists() and not wheels.path.exists()


@pytest.mark.parametrize("damage", ["changed", "lost", "no sums"])
def test_a_folder_that_is_not_as_it_was_is_not_intact(tmp_path: Path, damage: str) -> None:
    wheels = WheelFolder(tmp_path)
    (tmp_path / "a.whl").write_text("a")
    (tmp_path / SUMS).write_text(json.dumps({"a.whl": sha256_of_file(tmp_path / "a.whl")}))
    assert wheels.is_intact()
    if damage == "changed":
        (tmp_path / "a.whl").write_text("b")
    else:
        (tmp_path / ("a.whl" if damage == "lost" else SUMS)).unlink()
    assert not wheels.is_intact()


def test_what_was_compiled_is_found_while_it_is_whole(tmp_path: Path) -> None:
    wheels = WheelFolder(tmp_path / "wheels-1", tmp_path / "offered")
    wheels.path.mkdir()
    (tmp_path / "slow-1.0.whl").write_text("compiled")
    assert wheels.find_compiled("slow") is None and wheels.find_offered("slow") is None
    kept = wheels.store_compiled(tmp_path / "slow-1.0.whl")
    assert wheels.find_compiled("slow") == kept == wheels.path / "slow-1.0.whl"
    kept.write_text("half")
    assert wheels.find_compiled("slow") is None
    (tmp_path / "offered/wheels-1").mkdir(parents=True)
    (tmp_path / "offered/wheels-1/slow-1.0.whl").touch()
    assert wheels.find_offered("slow") == tmp_path / "offered/wheels-1/slow-1.0.whl"
    assert WheelFolder(wheels.path).find_offered("slow") is None


def test_pins_are_counted_without_their_hashes(tmp_path: Path) -> None:
    file = tmp_path / "requirements.txt"
    file.write_text("# a==1\na==1 \\\n    --hash=sha256:00\nb==2 ; python_version > '3'\n")
    assert count_pins(file) == 2
