"""Both adversaries on a host where systemd is process 1: each attempt is a transient unit, as on servers."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hosts.appliance.installer.ansible_runs import CACHE, ROOT
from tests.hosts.machines import testbed as testbeds
from tests.hosts.machines.testbed import Testbed, quoted

SUITE = "tests/adversaries"
MOST_IMPORTANT = (
    "mutants or becomes_a_link or is_ours or is_a_link or are_a_link or user_is or another_process"
)
"""Of the moves, where the long cases are left out."""


@pytest.fixture(scope="module")
def bed(image: str) -> Iterator[Testbed]:
    """With a name of its own."""
    with testbeds.testbed("gc-hosts-adversaries", image, CACHE) as bed:
        yield bed


@pytest.fixture(scope="module")
def words(bed: Testbed) -> list[str]:
    """The host reads this checkout and the tests' own environment, which starts with the distribution's Python."""
    (host,) = bed.add("one", lent=(ROOT, Path(sys.prefix)))
    host.ask("apt-get update -q && apt-get install -q -y --no-install-recommends redis-server")
    host.ask("systemctl disable --now redis-server")
    return [*(sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider"), SUITE]


def play_there(bed: Testbed, words: list[str], least: int) -> None:
    done = bed.hosts["one"].run(f"cd {ROOT} && CI=true GROUNDCREW_TEST_LAUNCHER=systemd {quoted(*words)}")
    counted = re.search(r"^(\d+) passed", done.stdout, re.M)
    assert done.returncode == 0 and counted, done.stdout[-6000:]
    assert int(counted[1]) >= least, done.stdout[-500:]
    assert bed.hosts["one"].ask("systemctl list-units --all --no-legend --plain 'gc-*'") == ""


def test_links_plans_and_numbers_change_nothing_where_attempts_are_units(
    bed: Testbed, words: list[str]
) -> None:
    play_there(bed, [*words, "-m", "not long", "-k", MOST_IMPORTANT], 25)


@pytest.mark.long
def test_no_move_changes_anything_where_attempts_are_units(bed: Testbed, words: list[str]) -> None:
    play_there(bed, [*words, "-m", "", "-k", "not in_every_round"], 120)
