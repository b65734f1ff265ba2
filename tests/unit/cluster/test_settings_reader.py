"""The reader turns a variable into a value, and remembers its name where it cannot."""

from datetime import time
from pathlib import Path

import pytest

from cluster.domain.executors import ExecutorKind
from cluster.settings_reader import PREFIX, SettingsReader


def reader(**values: str) -> SettingsReader:
    return SettingsReader({PREFIX + name: value for name, value in values.items()})


@pytest.mark.parametrize(
    ("value", "folders"),
    [("", ()), ("/data", (Path("/data"),)), ("/data::/mnt/a b", (Path("/data"), Path("/mnt/a b")))],
)
def test_folders_are_apart_by_colons(value: str, folders: tuple[Path, ...]) -> None:
    assert reader(DATASET_ROOTS=value).folders("DATASET_ROOTS", "/srv") == folders
    assert reader().folders("DATASET_ROOTS", "/srv") == (Path("/srv"),)


@pytest.mark.parametrize("executor", ["process", "kubernetes"])
def test_what_an_executor_requires_is_missing_only_with_that_executor(executor: str) -> None:
    settings = reader(EXECUTOR=executor)
    assert settings.folder_required_by("KUBECONFIG", ExecutorKind.KUBERNETES) is None
    assert settings.invalid_names == ([f"{PREFIX}KUBECONFIG"] if executor == "kubernetes" else [])


@pytest.mark.parametrize(
    ("value", "moment", "is_valid"), [("", None, True), ("03:30", time(3, 30), True), ("24:00", None, False)]
)
def test_a_time_of_day_is_read_or_remembered_as_unusable(
    value: str, moment: time | None, is_valid: bool
) -> None:
    settings = reader(BACKUP_AT=value)
    assert settings.time_of_day("BACKUP_AT") == moment
    assert settings.invalid_names == ([] if is_valid else [f"{PREFIX}BACKUP_AT"])
