"""A manifest is the last file of an environment: without it there is none."""

from pathlib import Path

import pytest

from cluster.domain.images import LibraryVersion
from worker.environments.manifest import (
    MANIFEST,
    EnvironmentManifest,
    is_environment_ready,
    read_environment_contents,
    read_environment_manifest,
    read_environment_variables,
    write_environment_manifest,
)

WRITTEN = EnvironmentManifest("0123abcd", {"A": "1"}, (LibraryVersion("six", "1.17.0", "purpose.arrays"),))


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    folder = tmp_path / "training-0123abcd"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin/python").touch(0o755)
    write_environment_manifest(folder, WRITTEN)
    return folder


def test_what_is_written_is_read_by_everybody(environment: Path) -> None:
    assert read_environment_manifest(environment) == WRITTEN
    assert read_environment_contents(environment) == [("six", "1.17.0", "purpose.arrays")]
    assert read_environment_variables(environment) == {"A": "1"}
    assert (environment / MANIFEST).stat().st_mode & 0o777 == 0o644
    assert is_environment_ready(environment)


@pytest.mark.parametrize(
    "content",
    [
        *(None, "", "[]", '{"digest": "0123abcd"}', "{}" + " " * 5 * 1024**2, "[" * 100_000),
        *(
            '{"digest": "d", "contents": [], "variables": ' + each + "}"
            for each in ("[1]", '"A"', "7", "null")
        ),
        '{"digest": "d", "contents": 7, "variables": {}}',
    ],
)
def test_what_is_no_manifest_makes_no_environment(environment: Path, content: str | None) -> None:
    (environment / MANIFEST).unlink()
    if content is not None:
        (environment / MANIFEST).write_text(content)
    assert read_environment_manifest(environment) is None
    assert read_environment_contents(environment) == [] and read_environment_variables(environment) == {}
    assert not is_environment_ready(environment)


def test_variables_are_text(environment: Path) -> None:
    """On servers the file belongs to a service, and root's scheduler gives them to programs."""
    (environment / MANIFEST).write_text(
        '{"digest": 1, "contents": [], "variables": {"A": {"b": 1}, "C": null}}'
    )
    assert read_environment_variables(environment) == {"A": "{'b': 1}", "C": "None"}


def test_a_link_in_the_place_of_the_manifest_is_not_followed(environment: Path) -> None:
    (environment / MANIFEST).rename(environment.parent / "elsewhere.json")
    (environment / MANIFEST).symlink_to(environment.parent / "elsewhere.json")
    assert read_environment_manifest(environment) is None


def test_an_environment_elsewhere_or_without_its_interpreter_is_not_ready(environment: Path) -> None:
    (environment / "bin/python").chmod(0o644)
    assert not is_environment_ready(environment)
    (environment / "bin/python").chmod(0o755)
    assert not is_environment_ready(environment.rename(environment.with_name("training-1")))
