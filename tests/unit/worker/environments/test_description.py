"""The default environment's description, and what the name of a built one is made of."""

import dataclasses
import re
import shutil
from pathlib import Path

import pytest

from worker.environments.build_platform import (
    BuildPlatform,
    training_environment_digest,
    training_environment_path,
    wheel_folder_path,
)
from worker.environments.build_steps import (
    BuildStep,
    BuildStepProgress,
    MakeProgressParser,
    PipProgressParser,
)
from worker.environments.description import DEFAULT, read_environment_description, select_pins

MACHINE = BuildPlatform("debian-12", "x86_64", "glibc-2.36", ("avx", "fma"), "3.11")
REQUIREMENTS = (DEFAULT / "requirements.txt").read_text()


def test_the_default_description_is_whole() -> None:
    description = read_environment_description()
    assert description.name == "default"
    assert description.variables["TF_USE_LEGACY_KERAS"] == "1"
    assert {need.package for need in description.compiled.needs} == {"g++", "make", "cmake", "python3-dev"}
    assert description.source.read_text().count("--hash=sha256:") == 1


def test_no_address_stands_in_the_requirements() -> None:
    for path in DEFAULT.iterdir():
        assert "://" not in path.read_text(), path.name
        assert "index-url" not in path.read_text(), path.name


def test_every_package_is_pinned_with_its_hashes() -> None:
    pins = re.split(r"\n(?=[a-z])", REQUIREMENTS.strip())
    assert len(pins) > 40
    for pin in pins:
        assert re.match(r"[a-z0-9-]+==[^ ]+ ", pin), pin[:60]
        assert "--hash=sha256:" in pin, pin[:60]


@pytest.mark.parametrize("wanted", (DEFAULT / "requirements.in").read_text().splitlines())
def test_what_was_asked_for_is_what_was_pinned(wanted: str) -> None:
    if wanted and not wanted.startswith("#"):
        pin = wanted if "==" in wanted else f"{wanted}=="
        assert re.search(rf"^{re.escape(pin)}", REQUIREMENTS, re.MULTILINE), wanted


def test_the_full_tensorflow_is_left_out() -> None:
    assert not re.search(r"^tensorflow==", REQUIREMENTS, re.MULTILINE)
    assert re.search(r"^tensorflow-cpu==2\.18\.1 ", REQUIREMENTS, re.MULTILINE)


def test_pins_are_cut_out_with_their_hashes() -> None:
    cut = select_pins(REQUIREMENTS, ("pip", "wheel"))
    assert re.findall(r"^(\S+)==", cut, re.MULTILINE) == ["pip", "wheel"]
    assert cut.count("--hash=sha256:") >= 2


@pytest.mark.parametrize("file", ["environment.toml", "requirements.txt", "horovod.txt"])
def test_each_file_of_the_description_counts_in_the_name(tmp_path: Path, file: str) -> None:
    shutil.copytree(DEFAULT, tmp_path / "copy")
    copy = read_environment_description(tmp_path / "copy")
    assert training_environment_digest(copy, MACHINE) == training_environment_digest(
        read_environment_description(), MACHINE
    )
    with (tmp_path / "copy" / file).open("a") as content:
        content.write("\n# another\n")
    assert training_environment_digest(copy, MACHINE) != training_environment_digest(
        read_environment_description(), MACHINE
    )


@pytest.mark.parametrize(
    "other",
    [{"system": "ubuntu-24.04"}, {"architecture": "aarch64"}, {"libc": "glibc-2.39"}, {"cpu": ("avx",)},
     {"python": "3.12"}],
    ids=lambda other: next(iter(other)),
)  # fmt: skip
def test_each_fact_of_the_machine_counts_in_the_names(other: dict[str, object]) -> None:
    description, cache = read_environment_description(), Path("/cache")
    changed = dataclasses.replace(MACHINE, **other)  # type: ignore[arg-type]
    for path in (training_environment_path, wheel_folder_path):
        assert path(description, changed, cache) != path(description, MACHINE, cache)


def test_another_table_of_contents_needs_no_other_wheels(tmp_path: Path) -> None:
    shutil.copytree(DEFAULT, tmp_path / "copy")
    with (tmp_path / "copy" / "environment.toml").open("a") as content:
        content.write('six = "purpose.arrays"\n')
    copy, cache = read_environment_description(tmp_path / "copy"), Path("/cache")
    assert wheel_folder_path(copy, MACHINE, cache) == wheel_folder_path(
        read_environment_description(), MACHINE, cache
    )
    assert training_environment_path(copy, MACHINE, cache) != training_environment_path(
        read_environment_description(), MACHINE, cache
    )


def test_other_build_variables_need_other_wheels() -> None:
    description = read_environment_description()
    compiled = dataclasses.replace(description.compiled, variables={"HOROVOD_WITH_MPI": "1"})
    other = dataclasses.replace(description, compiled=compiled)
    assert wheel_folder_path(other, MACHINE, Path()) != wheel_folder_path(description, MACHINE, Path())


def test_the_compilers_lines_become_progress() -> None:
    told: list[tuple[str, float, str]] = []
    lines = MakeProgressParser(BuildStepProgress(lambda *report: told.append(report), BuildStep.COMPILE))
    for line in (
        "-- The CXX compiler identification is GNU 12.2.0",
        "  [ 12%] Building CXX object horovod/tensorflow/CMakeFiles/tensorflow.dir/mpi_ops.cc.o",
        "  [  3%] Building C object third_party/gloo/allgather.c.o",
        "  [100%] Linking CXX shared library /tmp/mpi_lib.so",
    ):
        lines(line)
    assert [(round(share, 2), name) for _, share, name in told] == [
        (0.08, "mpi_ops.cc"),
        (0.08, "allgather.c"),
        (0.98, "mpi_lib.so"),
    ]


def test_the_downloaders_lines_become_progress() -> None:
    told: list[tuple[str, float, str]] = []
    lines = PipProgressParser(
        BuildStepProgress(lambda *report: told.append(report), BuildStep.DOWNLOAD), packages=3
    )
    for line in (
        "Collecting six==1.17.0 (from -r requirements.txt (line 1))",
        "  Downloading six-1.17.0-py2.py3-none-any.whl (11 kB)",
        "Progress 5 of 10",
        "Collecting numpy==2.0.2",
        "  Using cached numpy-2.0.2.whl (18 MB)",
    ):
        lines(line)
    assert [share for _, share, _ in told] == [0, 0, 0.125, 0.25, 0.25]
    assert told[-1][2] == "numpy-2.0.2.whl"
