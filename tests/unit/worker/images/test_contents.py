"""An image is tried as its own user, and what is in it is read from it."""

import json
from pathlib import Path

import pytest

from tests.unit.worker.images.recorded_root import recorded_root, some_progress
from worker.environments.errors import BuiltButNotWorking
from worker.images.contents import list_image_contents, read_package_versions, verify_image
from worker.images.description import read_variant


@pytest.mark.parametrize(("variant", "has_nccl"), [("cpu", "False"), ("cuda", "True")])
def test_an_image_is_tried_as_its_own_user_with_what_its_variant_promises(
    tmp_path: Path, variant: str, has_nccl: str
) -> None:
    described, root = read_variant(variant), recorded_root(tmp_path)
    verify_image(root, described, {"PATH": "/usr/bin"}, some_progress())
    (horovod, _), (torch, _), *more = root.calls
    assert [("horovod.torch" in words[-1]) for words, _ in more] == [True] * (variant == "cuda")
    assert f"bool(horovod.nccl_built()) == {has_nccl}" in horovod[-1]
    assert "torch.distributed" in torch[-1]
    for _, options in root.calls:
        assert options["user"] == described.user.number and options["variables"]["PATH"] == "/usr/bin"


def test_an_image_that_does_not_start_is_of_no_use(tmp_path: Path) -> None:
    with pytest.raises(BuiltButNotWorking):
        verify_image(recorded_root(tmp_path, fails=True), read_variant("cpu"), {}, some_progress())


def test_the_contents_are_what_python_and_the_distribution_say(tmp_path: Path) -> None:
    variant = read_variant("cpu")
    libraries = json.dumps(dict.fromkeys(variant.environment.purposes, "1.0"))
    packages = [f"{name} 2.0-1 extra" for name in variant.system_purposes]
    contents = list_image_contents(
        recorded_root(tmp_path, ["a warning", libraries], packages), variant, some_progress()
    )
    assert [each.library for each in contents] == [*variant.environment.purposes, *variant.system_purposes]
    assert {each.version for each in contents} == {"1.0", "2.0-1 extra"}


def test_a_package_that_is_not_there_is_named(tmp_path: Path) -> None:
    variant = read_variant("cpu")
    libraries = json.dumps(dict.fromkeys(variant.environment.purposes, "1.0"))
    with pytest.raises(BuiltButNotWorking) as failed:
        list_image_contents(recorded_root(tmp_path, [libraries], []), variant, some_progress())
    assert failed.value.data["line"].startswith("not installed: ")


def test_versions_are_read_from_the_lines_that_have_one(tmp_path: Path) -> None:
    root = recorded_root(tmp_path, ["openmpi-bin 4.1.4-3", "", "dpkg-query:"])
    assert read_package_versions(root, read_variant("cpu"), some_progress()) == {"openmpi-bin": "4.1.4-3"}
    assert root.calls[0][0][0] == "dpkg-query"
