"""Each sealed entry stands once in the file of its day, whatever a crash has left there."""

import json
from pathlib import Path

import pytest

from cluster.domain.people.actor import Actor
from cluster.services.audit.log_lines import append_sealed_entries, audit_log_folder
from cluster.services.audit.seals import seal_entries
from cluster.services.context import Cluster
from cluster.store.audit import add_audit_entry
from cluster.store.facts import InstallationFact
from tests.conftest import Clock


def enter(cluster: Cluster, clock: Clock, actor: Actor, *numbers: int, note: str = "") -> None:
    """And let them be sealed."""
    for number in numbers:
        with cluster.store.write() as session:
            add_audit_entry(session, clock.now, actor, "job.submitted", number, note=note)
    clock.move(minutes=2)
    seal_entries(cluster)


def objects(path: Path) -> list[int]:
    return [json.loads(line)["object"] for line in path.read_text().splitlines()]


def test_each_entry_stands_once_in_the_file_of_its_day(cluster: Cluster, clock: Clock, chief: Actor) -> None:
    enter(cluster, clock, chief, 1, 2)
    assert (append_sealed_entries(cluster), append_sealed_entries(cluster)) == (2, 0)
    clock.move(hours=12)
    enter(cluster, clock, chief, 3)
    assert append_sealed_entries(cluster) == 1
    folder = audit_log_folder(cluster)
    assert objects(folder / "20261120.log") == [1, 2] and objects(folder / "20261121.log") == [3]
    assert (folder / "20261120.log").stat().st_mode & 0o777 == 0o600


def test_no_text_begins_a_line_of_its_own(cluster: Cluster, clock: Clock, chief: Actor) -> None:
    enter(cluster, clock, chief, 1, note='x\n{"id": 99, "object": 99}\u2028y')
    append_sealed_entries(cluster)
    assert (audit_log_folder(cluster) / "20261120.log").read_bytes().count(b"\n") == 1


def forget(cluster: Cluster, file: Path, lines: int) -> None:
    """As a crash between the file and the row leaves it: the row knows the first `lines` of the file's."""
    last = json.loads(file.read_text().splitlines()[lines - 1])["id"]
    with cluster.store.write() as session:
        session.merge(InstallationFact(name="access_log", value={"last_id": last}))


def test_a_line_that_a_crash_cut_is_written_again(cluster: Cluster, clock: Clock, chief: Actor) -> None:
    enter(cluster, clock, chief, 1, 2, 3)
    append_sealed_entries(cluster)
    file = audit_log_folder(cluster) / "20261120.log"
    forget(cluster, file, 1)
    whole = file.read_bytes()
    file.write_bytes(whole[:-20])
    assert append_sealed_entries(cluster) == 1
    assert file.read_bytes() == whole


@pytest.mark.parametrize(
    "garbage", [b"an administrator's own line\n", b"\0" * 70_000, b'{"id": "x"}\n', b"[]\n"]
)
def test_a_last_line_that_is_none_of_ours_holds_nothing_up(
    cluster: Cluster, clock: Clock, chief: Actor, garbage: bytes
) -> None:
    enter(cluster, clock, chief, 1)
    append_sealed_entries(cluster)
    file = audit_log_folder(cluster) / "20261120.log"
    before = file.read_bytes()
    with file.open("ab") as damaged:
        damaged.write(garbage)
    enter(cluster, clock, chief, 2)
    assert append_sealed_entries(cluster) == 1
    assert (
        file.read_bytes().startswith(before) and json.loads(file.read_bytes().splitlines()[-1])["object"] == 2
    )


def test_what_follows_a_database_that_was_put_back_is_written_too(
    cluster: Cluster, clock: Clock, chief: Actor
) -> None:
    enter(cluster, clock, chief, 1)
    append_sealed_entries(cluster)
    file = audit_log_folder(cluster) / "20261120.log"
    lost = json.loads(file.read_text()) | {"id": 50, "object": 50}
    with file.open("a") as later:
        later.write(json.dumps(lost) + "\n")
    enter(cluster, clock, chief, 2)
    assert append_sealed_entries(cluster) == 1
    assert objects(file) == [1, 50, 2]


def test_a_line_written_before_the_crash_that_forgot_it_stays_once(
    cluster: Cluster, clock: Clock, chief: Actor
) -> None:
    enter(cluster, clock, chief, 1)
    append_sealed_entries(cluster)
    file = audit_log_folder(cluster) / "20261120.log"
    enter(cluster, clock, chief, 2)
    append_sealed_entries(cluster)
    forget(cluster, file, 1)
    assert append_sealed_entries(cluster) == 0
    assert objects(file) == [1, 2]
