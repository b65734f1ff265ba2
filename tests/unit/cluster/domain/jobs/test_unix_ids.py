"""As whom a job runs: one of the installation's own numbers and nobody else."""

import pytest

from cluster.domain.errors import Refused
from cluster.domain.jobs.unix_ids import (
    IDS_PER_BASE,
    LARGEST_BASE,
    MIN_BASE,
    SERVICE_IDS,
    JobUnixIds,
    is_valid_id_base,
)


@pytest.mark.parametrize(
    ("base", "row", "number"),
    [
        (100_000, 1, 100_001),
        (100_000, IDS_PER_BASE - 1, 1_148_575),
        (300_000, 7, 300_007),
        (MIN_BASE, 1, 1001),
    ],
)
def test_each_row_has_a_number(base: int, row: int, number: int) -> None:
    ids = JobUnixIds(base, base)
    assert (ids.uid_of(row), ids.gid_of(row)) == (number, number)


@pytest.mark.parametrize(
    ("base", "row"),
    [
        (100_000, -100_000),
        (100_000, -1),
        (100_000, 0),
        (100_000, IDS_PER_BASE),
        (100_000, 2**32),
        (0, 0),
        (0, 33),
        (500, 499),
        (2**32 - IDS_PER_BASE, IDS_PER_BASE - 1),
    ],
)
def test_no_row_is_root_a_service_or_another_installations(base: int, row: int) -> None:
    ids = JobUnixIds(base, base)
    for of, field in ((ids.uid_of, "user"), (ids.gid_of, "workspace")):
        with pytest.raises(Refused) as refused:
            of(row)
        assert (refused.value.field, refused.value.code) == (field, f"job.{field}_number_outside")


@pytest.mark.parametrize(
    ("base", "is_good"),
    [
        (0, False),
        (999, False),
        (1000, True),
        (100_000, True),
        (LARGEST_BASE, True),
        (LARGEST_BASE + 1, False),
    ],
)
def test_an_installations_numbers_begin_above_those_of_the_machine(base: int, is_good: bool) -> None:
    assert is_valid_id_base(base) is is_good


def test_programs_that_are_ended_by_their_user_share_it_with_nobody() -> None:
    """Not with another kind of program, with a user, or with the SSH door."""
    ids = JobUnixIds(100_000, 100_000)
    people = {ids.uid_of(user) for user in range(1, 2**18)}
    fetches = {ids.for_fetch(workspace).uid for workspace in range(1, 2**18)}
    builds = {ids.for_build(environment).uid for environment in range(1, 2**18 + 1)}
    door = {ids.first_door_id + number for number in range(SERVICE_IDS)}
    together = people | fetches | builds | door
    assert len(together) == len(people) + len(fetches) + len(builds) + len(door)
    assert all(ids.for_fetch(row).uid == ids.for_fetch(row).gid for row in (1, 7))
