"""Files of the access log are listed and deleted by the day; a deletion is an entry, also one that failed."""

import errno
import os
from datetime import timedelta
from pathlib import Path

import pytest

from cluster.domain.errors import Conflict, Forbidden, NotFound, Unavailable
from cluster.domain.people.actor import Actor
from cluster.services.audit import entries as audit
from cluster.services.audit.log_files import delete_log_file, find_log_file, list_log_files
from cluster.services.audit.log_lines import append_sealed_entries, audit_log_folder
from cluster.services.audit.seals import seal_entries
from cluster.services.context import Cluster
from cluster.store.audit import add_audit_entry
from tests.builders import a_user, actor_of
from tests.conftest import Clock
from tests.store.cluster.services.audit.test_log_lines import enter


def test_what_is_not_sealed_is_not_written(cluster: Cluster, clock: Clock, chief: Actor) -> None:
    with cluster.store.write() as session:
        add_audit_entry(session, clock.now, chief, "job.submitted", 1)
    assert append_sealed_entries(cluster) == 0 and list_log_files(cluster, chief) == []


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
