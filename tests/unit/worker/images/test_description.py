"""One description makes the training environment and both images: what they share is the same, all of it is pinned."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from cluster.words import LANGUAGES, has_words, word
from worker.environments.build_platform import BuildPlatform
from worker.environments.description import DEFAULT, read_environment_description
from worker.images.description import VARIANTS, ImageVariant, image_archive_path, inputs_digest, read_variant
from worker.images.root_filesystem import select_apt_sources

MACHINE = BuildPlatform("debian-12", "x86_64", "glibc-2.36", ("avx",), "3.11")


@pytest.fixture(params=VARIANTS)
def variant(request: pytest.FixtureRequest) -> ImageVariant:
    return read_variant(request.param)


def every_pin(file: Path) -> set[tuple[str, str]]:
    """Some have one version for each Python."""
    return set(re.findall(r"^([a-z0-9-]+)==([^ ;]+)", file.read_text(), re.MULTILINE))


def pins(file: Path) -> dict[str, str]:
    return dict(every_pin(file))


def test_every_package_of_an_image_is_pinned_with_its_hashes(variant: ImageVariant) -> None:
    text = variant.requirements.read_text()
    blocks = re.split(r"\n(?=\S)", text.strip())
    assert len(blocks) > 100
    assert [block.split()[0] for block in blocks if "--hash=sha256:" not in block] == []
    assert "://" not in text


def test_an_image_has_the_training_environments_versions(variant: ImageVariant) -> None:
    known, own = every_pin(read_environment_description().requirements), every_pin(variant.requirements)
    names = {name for name, _ in known}
    assert {pin for pin in own if pin[0] in names} <= known
    if variant.name == "cpu":
        assert known <= own


def test_each_library_of_the_contents_is_pinned_or_compiled(variant: ImageVariant) -> None:
    named = set(variant.environment.purposes) - {"python", variant.environment.compiled.package}
    assert named <= set(pins(variant.requirements))


def test_each_purpose_and_variant_has_its_word(variant: ImageVariant) -> None:
    codes = [
        *variant.environment.purposes.values(),
        *variant.system_purposes.values(),
        f"variant.{variant.name}",
    ]
    assert [code for code in codes if not has_words(code)] == []
    for language in LANGUAGES:
        assert word("variant", variant.name, language) != variant.name


def test_the_cuda_image_takes_the_cuda_that_torch_was_built_with() -> None:
    found = pins(read_variant("cuda").requirements)
    cuda = {name: version for name, version in found.items() if re.fullmatch(r"nvidia-cuda-.*-cu12", name)}
    assert len(cuda) == 4 and all(version.startswith("12.8.") for version in cuda.values())
    assert int(found["nvidia-cudnn-cu12"].split(".")[1]) >= 3, "TensorFlow 2.18 was built with cuDNN 9.3"


def test_the_name_of_an_archive_changes_with_what_goes_into_it() -> None:
    cpu = read_variant("cpu")
    system = replace(cpu.system, packages=(*cpu.system.packages, "git"))
    compiled = replace(cpu.environment.compiled, variables={"HOROVOD_WITH_MPI": "0"})
    digests = {
        inputs_digest(each, MACHINE)
        for each in (
            cpu,
            read_variant("cuda"),
            replace(cpu, system=system),
            replace(cpu, environment=replace(cpu.environment, compiled=compiled)),
            replace(cpu, requirements=DEFAULT / "requirements.txt"),
        )
    }
    assert len(digests) == 5
    assert inputs_digest(cpu, replace(MACHINE, python="3.12")) not in digests
    assert (
        image_archive_path(cpu, MACHINE, Path("/c")).name
        == f"groundcrew-default-cpu-{inputs_digest(cpu, MACHINE)}.tar"
    )


def test_an_image_has_no_sources_but_its_distributions() -> None:
    listed = (
        "Debian|deb http://deb.example/debian/ bookworm main\n"
        "Debian|deb http://deb.example/debian/ bookworm main\n"
        "Google|deb http://packages.example/apt sdk main\n"
        "|deb http://own.example/ ./ main\n"
    )
    assert select_apt_sources(listed, "debian") == ["deb http://deb.example/debian/ bookworm main"]
