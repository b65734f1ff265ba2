"""The application's own repairs mend a host, red first and green after: operations, backups, access log, disk.

Installing takes most of the time; GROUNDCREW_INSTALLED_HOST names a host that is there already.
"""

from collections.abc import Iterator
from functools import partial

import pytest

from tests.hosts.appliance.repair_scenarios import SERVICES, Break, Mended, Mender, ask_rows, write_down
from tests.hosts.appliance.test_repairs import as_user, see_red_and_mend
from tests.hosts.appliance.test_repairs import clicker as clicker
from tests.hosts.appliance.test_repairs import host as host
from tests.hosts.appliance.test_repairs import mender as mender

pytestmark = pytest.mark.long

STATE = "/var/lib/groundcrew"
CACHE = "/var/cache/groundcrew-services"
BACKUPS = f"{STATE}/backups"
STUCK = ask_rows(
    "insert into operations (kind, queue, state, steps, progress, requested_by, requested_at, fence, claims, "
    "error_code, error_data) select 'backup', 'backups', 'interrupted', '[]', 0, id, now(), 0, 5, 'operation.dropped', "
    "json_build_object('times', 5) from users order by id limit 1"
)
HANGS = "systemctl kill --kill-whom=main --signal=STOP groundcrew-worker@backups"
FLIP = f"""python3 - <<'END'
from pathlib import Path
path = sorted(Path("{BACKUPS}").glob("groundcrew-*.sql.zst"))[-1]
content = bytearray(path.read_bytes())
content[len(content) // 2] ^= 1
path.write_bytes(content)
END
"""


def edit_first_entry(change: str) -> str:
    """As who owns the database server can, and nobody else: the triggers say no."""
    return ask_rows(
        "begin; alter table audit_entries disable trigger all; "
        f"update audit_entries set action = {change} where id = (select min(id) from audit_entries); "
        "alter table audit_entries enable trigger all; commit"
    )


def ask(asker: Mender, broken: Break) -> Mended:
    """Whatever the verdict is: it stands in the table."""
    mended = asker.mend(broken)
    write_down(broken, mended)
    return mended


def codes(answers: list[dict[str, object]]) -> set[object]:
    return {answer["code"] for answer in answers if not answer["is_ok"]}


def test_a_hung_task_worker_is_restarted_and_what_was_given_up_is_done(clicker: Mender) -> None:
    see_red_and_mend(
        clicker,
        Break(
            "clear-stuck-operations",
            "an operation given up, the task worker of its queue hangs",
            f"{STUCK}; {HANGS}",
        ),
    )
    last = "select state from operations where kind = 'backup' and claims > 0 order by id desc limit 1"
    clicker.host.wait_until(f"{ask_rows(last)} | grep -x finished", 180)


def test_a_backup_is_made_where_there_is_none(clicker: Mender) -> None:
    see_red_and_mend(clicker, Break("back-up-now", "all backups deleted", f"rm -f {BACKUPS}/groundcrew-*"))
    name = clicker.host.ask(f"ls {BACKUPS} | grep -x 'groundcrew-.*[.]zst'")
    assert clicker.host.ask(f"stat -c '%U %a' {BACKUPS}/{name}") == "groundcrew 600"
    watcher = partial(as_user, "groundcrew-watch", "groundcrew-watch,groundcrew")
    assert clicker.host.ask(watcher(f"cat {BACKUPS}/{name}.json"))
    assert clicker.host.run(watcher(f"cat {BACKUPS}/{name}")).returncode != 0, (
        "who watches repairs reads no row of it"
    )


def test_a_flipped_bit_is_found_and_a_new_backup_is_whole(clicker: Mender) -> None:
    assert clicker.mend(Break("back-up-now", "", "true")).verdict == "verified"
    found = ask(clicker, Break("verify-backup", "one bit of the newest backup flipped", FLIP))
    assert found.verdict == "not_verified" and codes(found.checks) == {"check.backup_restored.problem"}, found
    see_red_and_mend(clicker, Break("back-up-now", "the newest backup damaged", "true"))
    again = ask(clicker, Break("verify-backup", "a whole one", "true"))
    assert again.verdict == "verified", again.checks


def test_an_edited_entry_of_the_access_log_is_found(clicker: Mender) -> None:
    """Nothing mends it but the row as it was: that is what a backup is for."""
    assert clicker.mend(Break("verify-access-log", "", "true")).verdict == "verified"
    edited = Break("verify-access-log", "an entry edited in the database", edit_first_entry("action || '.x'"))
    try:
        found = ask(clicker, edited)
        assert found.verdict == "not_verified" and codes(found.checks) == {"check.audit_whole.not"}, found
    finally:
        clicker.host.ask(edit_first_entry("replace(action, '.x', '')"))
    again = ask(clicker, Break("verify-access-log", "the entry as it was", "true"))
    assert again.verdict == "verified" and again.was_red, again


SMALL_DISK = f"""set -e; systemctl stop 'groundcrew-*'; size=$(du -sm {STATE} | cut -f1)
mkdir -p /mnt/state; mount -t tmpfs -o size=$((size + 200))m,mode=0711 state /mnt/state; cp -a {STATE}/. /mnt/state/
mount --bind /mnt/state {STATE}; systemctl start {SERVICES}"""
AS_BEFORE = f"""rm -rf /opt/groundcrew/0.1.0-111111111111 {CACHE}/training-111111111111
systemctl stop 'groundcrew-*'; umount {STATE}; umount /mnt/state
systemctl start {SERVICES}"""
LEFTOVERS = f"""set -e
old() {{ mkdir -p $2/bin; dd if=/dev/zero of=$2/bin/python bs=1M count=5 status=none; touch -d $1 $2; }}
old 2019-01-01 /opt/groundcrew/0.1.0-000000000000; old 2099-01-01 /opt/groundcrew/0.1.0-111111111111
old 2019-01-01 {CACHE}/training-000000000000; old 2099-01-01 {CACHE}/training-111111111111
chown -R groundcrew: {CACHE}/training-[01]*
free=$(df -m --output=avail {STATE} | tail -1)
dd if=/dev/zero of={STATE}/log/operation-999999999.log bs=1M count=$((free - 8)) status=none
chown groundcrew: {STATE}/log/operation-999999999.log; touch -d 2020-01-01 {STATE}/log/operation-999999999.log
echo digits > {STATE}/storage/precious"""


@pytest.fixture
def full(clicker: Mender) -> Iterator[Mender]:
    """Its state lies on a small disk of its own, and what nobody needs any more has filled that."""
    clicker.host.ask(SMALL_DISK)
    clicker.host.wait_until("curl -skf https://localhost/health | grep -q ok", 60)
    clicker.host.ask(LEFTOVERS)
    try:
        yield clicker
    finally:
        clicker.host.ask(AS_BEFORE)
        clicker.host.wait_until("curl -skf https://localhost/health | grep -q ok", 60)


def test_a_full_disk_is_freed_of_what_the_forecast_listed(full: Mender) -> None:
    host = full.host
    mended = ask(full, Break("free-disk-space", "the disk full of leftovers", "true", typed=True))
    assert codes(mended.before) == {"check.no_leftovers.not", "check.disk_free.not"}, mended.before
    assert mended.verdict == "verified", (mended.checks, mended.tasks)
    left = host.ask(f"ls /opt/groundcrew {CACHE}").split()
    assert not [name for name in left if name.endswith(("-000000000000", ".gone"))]
    assert {"0.1.0-111111111111", "training-111111111111"} <= {*left}, "the newest other one stays"
    assert host.ask(f"cat {STATE}/storage/precious") == "digits"
    assert host.run(f"test -e {STATE}/log/operation-999999999.log").returncode != 0
    host.ask("groundcrew-audit verify")
