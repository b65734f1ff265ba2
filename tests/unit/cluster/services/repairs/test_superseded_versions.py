"""Of earlier versions those in use and the newest other one stay."""

import os
from collections.abc import Collection
from pathlib import Path

import pytest

from cluster.services.repairs.superseded_versions import WHEELS_NAME, superseded_folders

NAMES = [f"wheels-{str(number) * 12}" for number in range(4)]


@pytest.mark.parametrize(
    ("in_use", "listed"),
    [
        ((), NAMES[:2]),
        ((NAMES[3],), NAMES[:2]),
        ((NAMES[0],), NAMES[1:3]),
        ((NAMES[2], NAMES[3]), NAMES[:1]),
    ],
)
def test_the_newest_other_one_stays_or_two_if_none_is_in_use(
    tmp_path: Path, in_use: Collection[str], listed: Collection[str]
) -> None:
    for at, name in enumerate((*NAMES, "wheels-of-somebody")):
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (at, at))
    found = superseded_folders(tmp_path, WHEELS_NAME, in_use, "leftover.packages")
    assert {each.path.name for each in found} == set(listed)
