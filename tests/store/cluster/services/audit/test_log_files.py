"""The access log as files: each entry once, in the file of its local day, whatever was cut off or deleted meanwhile."""

import errno
import json
import os
from datetime import timedelta
from pathlib import Path

import pytest

from cluster.domain.errors import Conflict, Forbidden, NotFound, Unavailable
from cluster.domain.people.actor import Actor
from cluster.services.audit import entries as audit
from cluster.services.audit.log_files import (
    append_sealed_entries,
    audit_log_folder,
    delete_log_file,
    find_log_file,
    list_log_files,
)
from cluster.services.audit.seals import seal_entries
from cluster.services.context import Cluster
from cluster.store.audit import add_audit_entry
from cluster.store.facts import InstallationFact
from tests.builders import a_user, actor_of, an_administrator
from tests.conftest import Clock


@pytest.fixture
def chief(cluster: Cluster) -> Actor:
    return actor_of(an_administrator(cluster))


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


def test_what_is_not_sealed_is_not_written(cluster: Cluster, clock: Clock, chief: Actor) -> None:
    with cluster.store.write() as session:
        add_audit_entry(session, clock.now, chief, "job.submitted", 1)
    assert append_sealed_entries(cluster) == 0 and list_log_files(cluster, chief) == []


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


def test_deleting_a_day_is_an_entry_and_the_day_does_not_come_back(
    cluster: Cluster, clock: Clock, chief: Actor
) -> None:
    enter(cluster, clock, chief, 1, 2)
    append_sealed_entries(cluster)
    with pytest.raises(Conflict):
        delete_log_file(cluster, chief, "20261120")
    clock.now += timedelta(days=1)
    delete_log_file(cluster, chief, "20261120")
    (entry,) = audit.list_audit_entries(cluster, chief, action="access_log.deleted")
    assert (entry.data["day"], entry.data["lines"], len(entry.data["sha256"])) == ("20261120", 2, 64)
    clock.move(minutes=2)
    seal_entries(cluster)
    assert append_sealed_entries(cluster) == 2
    assert [file.day for file in list_log_files(cluster, chief)] == ["20261121"]
    assert len(audit.list_audit_entries(cluster, chief, object_kind="job")) == 2


def test_a_disk_that_refuses_a_deletion_is_said_and_noted(
    cluster: Cluster, clock: Clock, chief: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    enter(cluster, clock, chief, 1)
    append_sealed_entries(cluster)
    clock.now += timedelta(days=1)

    def refuse(path: Path, missing_ok: bool = False) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.raises(Unavailable, match="Read-only file system"):
        delete_log_file(cluster, chief, "20261120")
    entries = audit.list_audit_entries(cluster, chief, action="access_log.deleted")
    assert [entry.outcome for entry in entries] == ["failed"]


def test_a_deletion_that_was_killed_on_the_way_is_never_said_to_be_done(
    cluster: Cluster, clock: Clock, chief: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    enter(cluster, clock, chief, 1)
    append_sealed_entries(cluster)
    clock.now += timedelta(days=1)

    class Killed(BaseException):
        pass

    def dies(path: Path, missing_ok: bool = False) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", dies)
        with pytest.raises(Killed):
            delete_log_file(cluster, chief, "20261120")
    assert audit.list_audit_entries(cluster, chief, action="access_log.deleted") == []
    (begun,) = audit.list_audit_entries(cluster, chief, action="access_log.deletion_begun")
    assert (begun.data["day"], begun.data["lines"], len(begun.data["sha256"])) == ("20261120", 1, 64)
    delete_log_file(cluster, chief, "20261120")
    (entry,) = audit.list_audit_entries(cluster, chief, action="access_log.deleted")
    assert entry.outcome == "done" and list_log_files(cluster, chief) == []


def test_a_file_that_is_not_there_any_more_stops_no_list(
    cluster: Cluster, clock: Clock, chief: Actor
) -> None:
    enter(cluster, clock, chief, 1)
    append_sealed_entries(cluster)
    (audit_log_folder(cluster) / "20261101.log").symlink_to("nowhere")
    assert [file.day for file in list_log_files(cluster, chief)] == ["20261120"]


def test_only_administrators_and_only_days(cluster: Cluster, clock: Clock, chief: Actor) -> None:
    enter(cluster, clock, chief, 1)
    append_sealed_entries(cluster)
    user = actor_of(a_user(cluster))
    for refused in (
        lambda: list_log_files(cluster, user),
        lambda: delete_log_file(cluster, user, "20261120"),
    ):
        with pytest.raises(Forbidden):
            refused()
    for wrong in ("../../groundcrew", "20261119", ""):
        with pytest.raises(NotFound):
            find_log_file(cluster, chief, wrong)
