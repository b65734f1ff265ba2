"""Backups on a host that site.yml has installed: made and proved by the scheduler, put back, and everything is there.

Installing takes most of the time; GROUNDCREW_INSTALLED_HOST names a host that is there already.
"""

import json
from dataclasses import dataclass
from typing import Any

import pytest

from tests.hosts.appliance.repair_scenarios import SERVICES, Break, Mender, ask_rows, query
from tests.hosts.appliance.test_repairs import host as host
from tests.hosts.appliance.test_repairs import mender as mender

pytestmark = pytest.mark.long

BACKUPS = "/var/lib/groundcrew/backups"
REPAIR = Break("restart-worker-agent", "", "true")
LAST_RUN = ask_rows("select max(id) from repair_runs")
NIGHT = "facts where name = 'backup_nightly'"


@pytest.fixture(scope="module")
def backup(mender: Mender) -> dict[str, Any]:
    """Of the night that the scheduler owes, because it is told that it asked for the one before the last."""
    host = mender.host
    host.wait_until(f"{ask_rows(f'select 1 from {NIGHT}')} | grep 1", 200)
    host.ask("touch /root/before-the-night")
    yesterday = """{\\"night\\": \\"2020-01-01T00:00:00+00:00\\"}"""
    host.ask(ask_rows(f"update installation_facts set value = '{yesterday}' where name = 'backup_nightly'"))
    # The newest after this one's token was made: a host that stood through the night has others.
    newest = f"find {BACKUPS} -name 'groundcrew-*.json' -newer /root/before-the-night"
    host.wait_until(f'grep -l \'"restored_at": "2\' $({newest}) /dev/null', 400)
    name = host.ask(f"ls {BACKUPS} | grep -x 'groundcrew-.*[.]zst' | tail -1")
    told: dict[str, Any] = json.loads(host.ask(f"cat {BACKUPS}/{name}.json"))
    return told


def test_the_scheduler_makes_the_night_and_the_drill_is_green(mender: Mender, backup: dict[str, Any]) -> None:
    assert (backup["database"], backup["problem"], backup["audit"]) == ("postgresql", "", None)
    last = "select state || ' ' || queue from operations where kind = 'backup' order by id desc limit 1"
    mender.host.wait_until(f'{ask_rows(last)} | grep -x "finished backups"', 60)
    assert mender.host.ask(f"stat -c '%U %a' {BACKUPS}/{backup['name']}") == "groundcrew 600"
    assert mender.host.ask("systemctl show -P CPUWeight groundcrew-worker@backups") == "20"


@dataclass(frozen=True)
class PutBack:
    """What groundcrew-restore said, and the last repair of the lost day with the moment at which it began."""

    said: str
    lost_run: int
    begun: str


@pytest.fixture(scope="module")
def put_back(mender: Mender, backup: dict[str, Any]) -> PutBack:
    """After a day that is lost."""
    host = mender.host
    mender.call("GET", "nodes")
    host.ask(ask_rows("insert into installation_facts (name, value) values ('lost', '1')"))
    assert mender.mend(REPAIR).verdict == "verified"
    lost_run = int(host.ask(LAST_RUN))
    begun = host.ask(moment_of(lost_run))
    host.ask("systemctl stop 'groundcrew-*'")
    said = host.ask(f"groundcrew-restore {BACKUPS}/{backup['name']}")
    host.ask(f"systemctl start {SERVICES}")
    return PutBack(said, lost_run, begun)


def moment_of(run: int) -> str:
    return f"stat -c %y /var/lib/groundcrew/repairs/{run}/started"


def test_yesterday_is_back_and_what_was_there_is_kept(mender: Mender, put_back: PutBack) -> None:
    assert "The database is as it was on" in put_back.said and "before-restore-" in put_back.said
    assert mender.host.ask(ask_rows("select count(*) from installation_facts where name = 'lost'")) == "0"
    mender.host.wait_until("curl -skf https://localhost/health | grep -q ok", 60)
    assert mender.call("GET", "nodes")["items"]


def test_the_access_log_verifies_with_a_new_epoch(mender: Mender, put_back: PutBack) -> None:
    assert "as it was sealed" in mender.host.ask("groundcrew-audit verify")
    began = "select count(*) from audit_entries where action = 'audit.epoch' and at > now() - interval '10 minutes'"
    assert mender.host.ask(ask_rows(began)) == "1"


def test_repairs_go_on_with_numbers_that_the_lost_day_has_not_used(mender: Mender, put_back: PutBack) -> None:
    """Whoever asks for a repair may neither write into a folder of the lost day nor delete it."""
    host = mender.host
    assert host.ask(query(put_back.lost_run, "count(*)")) == "0"
    again = mender.mend(REPAIR)
    assert again.verdict == "verified", (again.checks, again.tasks)
    assert int(host.ask(LAST_RUN)) > put_back.lost_run
    assert host.ask(moment_of(put_back.lost_run)) == put_back.begun


def test_the_console_opens_with_the_portal_down(mender: Mender) -> None:
    mender.host.ask("systemctl stop groundcrew-portal.socket groundcrew-portal.service")
    try:
        said = mender.host.ask("printf '' | LANG=C.UTF-8 groundcrew-console")
        assert "answers with error 502" in said and "Restart the API" in said
    finally:
        mender.host.ask("systemctl start groundcrew-portal.socket")
