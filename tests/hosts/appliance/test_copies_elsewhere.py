"""Proved backups go to another machine by rsync over real ssh, out of the unit of the nightly backup.

The other machine is another user of the same host, reached by its sshd: key, host key and rsync are real.
Installing takes most of the time; GROUNDCREW_INSTALLED_HOST names a host that is there already.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.hosts.appliance.repair_scenarios import Mender, ask_rows, in_python
from tests.hosts.appliance.test_repairs import host as host
from tests.hosts.appliance.test_repairs import mender as mender

pytestmark = pytest.mark.long

BACKUPS, THERE = "/var/lib/groundcrew/backups", "/srv/copies"
KEY = "/etc/groundcrew/backup-key"
KNOWN = "/etc/ssh/ssh_known_hosts"
PREPARE = f"""set -e; useradd --create-home nas; install -d -o nas {THERE}
ssh-keygen -q -t ed25519 -N '' -f {KEY}
install -d -m 700 -o nas /home/nas/.ssh; printf 'restrict %s\n' "$(cat {KEY}.pub)" > /home/nas/.ssh/authorized_keys
chown nas: /home/nas/.ssh/authorized_keys
printf 'Host 127.0.0.1\n  IdentityFile {KEY}\n' > /etc/ssh/ssh_config.d/backup.conf
echo "127.0.0.1 $(cut -d ' ' -f 1-2 /etc/ssh/ssh_host_ed25519_key.pub)" > {KNOWN}
cp /etc/groundcrew/groundcrew.env /root/kept.env
sed -i 's|^GROUNDCREW_BACKUP_COPY=.*|GROUNDCREW_BACKUP_COPY=nas@127.0.0.1:{THERE}|' /etc/groundcrew/groundcrew.env
systemctl restart groundcrew-worker@backups"""
REMOVE = f"""mv /root/kept.env /etc/groundcrew/groundcrew.env; systemctl restart groundcrew-worker@backups
rm -rf {KEY} {KEY}.pub {KNOWN} /root/known /etc/ssh/ssh_config.d/backup.conf {THERE}
loginctl terminate-user nas; while pgrep --uid nas > /dev/null; do sleep 0.1; done; userdel --remove nas; ! id nas"""
BACK_UP = """
from sqlalchemy import select
from cluster.domain.people.actor import Actor
from cluster.services.backups.requests import request_backup
from cluster.settings import Settings
from cluster.store.users import User
from worker.composition import open_cluster
cluster = open_cluster(Settings.from_environment())
with cluster.store.read() as session:
    user = session.scalar(select(User).where(User.name == "ops"))
print(request_backup(cluster, Actor(user.id, user.name, True)).id)
"""
MADE_YESTERDAY = f"""python3 - <<'END'
import datetime, json, pathlib
path = pathlib.Path("{BACKUPS}/{{name}}.json")
told = json.loads(path.read_text())
told["made_at"] = str(datetime.datetime.fromisoformat(told["made_at"]) - datetime.timedelta(days=1))
path.write_text(json.dumps(told))
END
"""
"""Of two backups of one day the older one goes, copied or not."""


@pytest.fixture(scope="module")
def copying(mender: Mender) -> Iterator[Mender]:
    mender.host.ask(PREPARE)
    try:
        yield mender
    finally:
        mender.host.ask(REMOVE)


def back_up(mender: Mender) -> dict[str, Any]:
    """How the operation of a backup ended, and the manifest of what it made."""
    number = in_python(mender.host, BACK_UP)
    rows = f"from operations where id = {number}"
    mender.host.wait_until(f"{ask_rows(f'select ended_at {rows}')} | grep .", 300)
    told = mender.host.ask(
        ask_rows(f"select json_build_object('state', state, 'code', error_code, 'data', error_data) {rows}")
    )
    name = mender.host.ask(f"ls {BACKUPS} | grep -x 'groundcrew-.*[.]zst' | tail -1")
    manifest = json.loads(mender.host.ask(f"cat {BACKUPS}/{name}.json"))
    return {**json.loads(told), "manifest": manifest}


def test_a_proved_backup_lies_elsewhere_the_same_night(copying: Mender) -> None:
    made = back_up(copying)
    assert made["state"] == "finished" and made["manifest"]["copied_at"], made
    name, host = made["manifest"]["name"], copying.host
    assert host.ask(f"sha256sum < {THERE}/{name}").split()[0] == made["manifest"]["sha256"]
    assert json.loads(host.ask(f"cat {THERE}/{name}.json"))["sha256"] == made["manifest"]["sha256"]
    assert host.ask(f"stat -c '%U %a' {THERE}/{name}") == "nas 600"


def test_a_machine_that_is_not_who_it_was_gets_nothing_until_somebody_has_looked(copying: Mender) -> None:
    """The backup counts all the same; what is owed goes with the next one."""
    host = copying.host
    host.ask(f"mv {KNOWN} /root/known; ssh-keygen -q -t ed25519 -N '' -f /root/other")
    host.ask(
        f"echo \"127.0.0.1 $(cut -d ' ' -f 1-2 /root/other.pub)\" > {KNOWN}; rm /root/other /root/other.pub"
    )
    refused = back_up(copying)
    assert (refused["state"], refused["code"]) == ("failed", "backup.not_copied"), refused
    assert "Host key verification failed" in json.dumps(refused["data"]), refused
    manifest = refused["manifest"]
    assert manifest["restored_at"] and not manifest["copied_at"], manifest
    assert host.run(f"test -e {THERE}/{manifest['name']}").returncode != 0
    host.ask(f"mv /root/known {KNOWN}; {MADE_YESTERDAY.format(name=manifest['name'])}")
    assert back_up(copying)["state"] == "finished"
    assert host.ask(f"sha256sum < {THERE}/{manifest['name']}").split()[0] == manifest["sha256"]
