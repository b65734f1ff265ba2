"""The page of backups: state, age, size and place of each, in both languages, for administrators alone."""

import re
from dataclasses import replace
from datetime import time, timedelta
from typing import Any

import pytest

from cluster.domain.states import OperationKind
from cluster.services.context import Cluster
from cluster.services.operations import queries
from portal.shared_objects import share_object
from tests.builders import actor_of
from tests.pages.portal.pages_lab import Lab
from worker.backups.dump_files import write_backup_manifest


def a_backup(lab: Lab, name: str, **told: Any) -> None:
    folder = lab.cluster.settings.backups
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(b"x")
    made_at = (lab.cluster.clock() - timedelta(hours=11)).isoformat()
    write_backup_manifest(
        folder,
        {"name": name, "made_at": made_at, "size": 2_500_000, "sha256": "0" * 64, "revision": "0011",
         "rows": {"users": 12_345}, "audit_head": 1, "audit_seal": None} | told,
    )  # fmt: skip


@pytest.fixture
def three(lab: Lab) -> Lab:
    proved = {"restored_at": lab.cluster.clock().isoformat(), "restore_seconds": 12.0}
    copied = {"copied_at": lab.cluster.clock().isoformat()}
    a_backup(lab, "groundcrew-20261120-030000.sql.zst", database="postgresql", **proved, **copied)
    other_rows = {"code": "broken.other_rows", "data": {"table": "jobs", "found": 1, "expected": 2}}
    a_backup(lab, "groundcrew-20261119-030000.sql.zst", problem=other_rows)
    a_backup(lab, "groundcrew-20261118-030000.sql.zst", **proved, copy_problem="<b>no route</b> to host")
    no_rsync = {"code": "copying.no_rsync", "data": {}}
    a_backup(lab, "groundcrew-20261117-030000.sql.zst", problem="its SHA-256 differs", copy_problem=no_rsync)
    return lab


def test_each_backup_says_what_it_is_worth_and_where_it_lies(three: Lab) -> None:
    page = three.browser(three.administrator).get("/repairs/backups").text
    for words in ("Verified", "Damaged", "jobs has 1 row, its manifest says 2.", "12,345",
                  "PostgreSQL, migration 0011", "its SHA-256 differs", "rsync is not installed",
                  "restored in 12 s", "here and elsewhere", "here alone", "11 h ago"):  # fmt: skip
        assert words in page, words
    assert "&lt;b&gt;no route&lt;/b&gt; to host" in page and str(three.cluster.settings.backups) in page


def test_the_dashboard_shows_the_newest_proven_backup_to_administrators_alone(three: Lab) -> None:
    panel = (
        three.browser(three.administrator)
        .get("/")
        .text.partition(">Backups</h2>")[2]
        .partition("</section>")[0]
    )
    for words in ("11 h ago", "Verified", 'data-fact="backup:all:kept"', "Copy elsewhere"):
        assert words in panel, words
    assert "Last backup proven" not in three.browser(three.seoyeon).get("/").text


def test_the_dashboard_of_a_new_installation_says_that_there_is_no_backup(lab: Lab) -> None:
    assert "No backup has been made yet" in lab.browser(lab.administrator).get("/").text
    a_backup(lab, "groundcrew-20261120-030000.sql.zst")
    assert "No backup is proven yet" in lab.browser(lab.administrator).get("/").text


def test_the_page_speaks_korean(three: Lab) -> None:
    page = three.browser(three.administrator, "ko").get("/repairs/backups").text
    assert "손상됨" in page and "여기에만" in page and "11시간 전" in page
    assert "jobs에 1행 있는데 목록 파일에는 2행으로 적혀 있습니다." in page
    assert "rsync가 설치되어 있지 않습니다" in page
    assert "이전 버전의 기록: its SHA-256 differs" in page, "what older versions have written stays readable"


def test_an_empty_folder_is_said_to_be_empty(lab: Lab) -> None:
    page = lab.browser(lab.administrator).get("/repairs/backups").text
    assert "No backup has been made yet" in page and "never" in page


def test_what_was_there_before_a_restore_is_listed_with_how_long_it_stays(lab: Lab) -> None:
    folder = lab.cluster.settings.backups
    folder.mkdir(exist_ok=True)
    for day in ("01", "02"):
        (folder / f"before-restore-202611{day}-030000.sql.zst").write_bytes(b"x" * 2048)
    page = lab.browser(lab.administrator).get("/repairs/backups").text
    for words in ("before-restore-20261101-030000.sql.zst", "the newest stays", "12-01"):
        assert words in page, words
    assert "복원 전의 데이터베이스" in lab.browser(lab.administrator, "ko").get("/repairs/backups").text


def test_repairs_and_the_attention_line_lead_there(lab: Lab) -> None:
    settings = replace(lab.cluster.settings, backup_at=time(3, 0))
    share_object(lab.app, Cluster, replace(lab.cluster, settings=settings))
    lab.browser(lab.administrator).get("/")
    lab.cluster.clock.move(days=2)  # type: ignore[attr-defined]
    browser = lab.browser(lab.administrator)
    assert 'href="/repairs/backups"' in browser.get("/repairs").text
    assert 'href="/repairs/backups"' in browser.get("/").text


def test_on_servers_a_backup_is_asked_for_on_the_page_once_at_a_time(lab: Lab) -> None:
    share_object(
        lab.app,
        Cluster,
        replace(lab.cluster, settings=replace(lab.cluster.settings, launcher="systemd")),
    )
    browser = lab.browser(lab.administrator)
    page = browser.get("/repairs/backups").text
    assert "Back up now" in page and "/repairs/back-up-now" not in page
    assert browser.get("/repairs/verify-backup").status_code == 200 and "/repairs/verify-backup" in page
    answer = browser.post("/repairs/backups")
    assert answer.status_code == 303
    operation, *_ = queries.list_operations(lab.cluster, actor_of(lab.administrator))
    assert operation.kind == OperationKind.BACKUP and answer.location.endswith(f"/operations/{operation.id}")
    again = browser.post("/repairs/backups")
    assert again.status_code == 409 and f"under way already: operation {operation.id}" in again.text
    assert lab.browser(lab.seoyeon).post("/repairs/backups").status_code == 403


def test_every_way_on_the_page_leads_somewhere(lab: Lab) -> None:
    browser = lab.browser(lab.administrator)
    ways = re.findall(r'href="(/repairs/[^"]+)"', browser.get("/repairs/backups").text)
    assert {browser.get(way).status_code for way in ways} == {200} and "/repairs/back-up-now" in ways


def test_nobody_else_sees_them(lab: Lab) -> None:
    assert lab.browser(lab.seoyeon).get("/repairs/backups").status_code == 403


def test_kubernetes_memory_lies_among_them(lab: Lab) -> None:
    proved = {"restored_at": lab.cluster.clock().isoformat(), "restore_seconds": 3.0, "keys": 1_234}
    a_backup(lab, "etcd-20261120T024000Z.db.zst", revision=98_765, **proved)
    browser = lab.browser(lab.administrator)
    page = browser.get("/repairs/backups").text
    for words in ("etcd of Kubernetes", "etcd-20261120T024000Z.db.zst", "revision 98765", "1,234"):
        assert words in page, words
