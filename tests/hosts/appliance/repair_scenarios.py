"""Breaks a host, asks for the repair by clicks, or over REST as a program does, and waits for the verdict."""

import json
import os
import re
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx

from tests.browser.repair_pages import RepairPages
from tests.hosts.machines.testbed import Host

SERVICES = (
    "groundcrew-portal.socket groundcrew-stream.socket groundcrew-scheduler groundcrew-ssh groundcrew-agent "
    "groundcrew-repair-run.socket groundcrew-repair groundcrew-worker@general groundcrew-worker@images "
    "groundcrew-worker@backups"
)
"""What is started of a master after all that is ours was stopped."""
TABLE = Path(__file__).resolve().parents[3] / "docs" / "measurements" / "repairs.md"
REASON = "{{ lookup('pipe', 'touch /tmp/pwn') }}"
"""Read as a template anywhere on its way to Ansible, it would leave a file (S7)."""
MAKE_TOKEN = """
from sqlalchemy import select
from cluster.domain.people.actor import Actor
from cluster.services.people import api_tokens, first_administrator
from cluster.settings import Settings
from cluster.store.users import User
from worker.composition import open_cluster
cluster = open_cluster(Settings.from_environment())
secret = first_administrator.issue_first_administrator_secret(cluster)
if secret:
    first_administrator.create_first_administrator(cluster, secret, "ops", "four calm birds on a wing", "")
with cluster.store.read() as session:
    user = session.scalar(select(User).where(User.name == "ops"))
actor = Actor(user.id, user.name, True)
for token in api_tokens.list_api_tokens(cluster, actor):
    api_tokens.revoke_api_token(cluster, actor, token.id)
print(api_tokens.create_api_token(cluster, actor, "repairs", ["repair"], 1)[1])
"""


EXPIRE = """set -e; mkdir -p /root/expire; cd /root/expire; rm -f *; tls=/etc/groundcrew/tls
printf '[ca]\\ndefault_ca=d\\n[d]\\ndatabase=db\\nnew_certs_dir=.\\nserial=sn\\ndefault_md=sha256\\npolicy=p\\n' > cnf
printf 'copy_extensions=copy\\n[p]\\ncommonName=supplied\\n' >> cnf; touch db; echo 01 > sn
names=$(openssl x509 -in $tls/portal.pem -noout -ext subjectAltName | tail -1 | tr -d ' ' | sed 's/IPAddress/IP/g')
openssl req -new -key $tls/portal.key -subj /CN=localhost -addext "subjectAltName=$names" -out csr
openssl ca -batch -notext -config cnf -in csr -cert $tls/authority.pem -keyfile $tls/authority.key -out pem \
  -startdate 20200101000000Z -enddate 20200102000000Z
cat pem $tls/authority.pem > $tls/portal.pem; systemctl reload nginx"""
"""By the authority that the browsers know, with the names that the site has: only its time is over."""


@dataclass(frozen=True)
class Break:
    """`command` is typed on the host after the repair was asked for and before anybody looks."""

    repair: str
    words: str
    command: str
    typed: bool = False
    """Whether the target's name has to be typed."""
    is_long: bool = False
    is_clicked: bool = False
    """Also where the long cases are left out, which all are clicked."""
    hides_the_site: bool = False
    """Whether no page comes any more."""
    shows: str = "true"
    """What has to hold on the host before somebody can see what gentler ways leave of it."""


@dataclass(frozen=True)
class Mended:
    verdict: str
    before: list[dict[str, Any]]
    checks: list[dict[str, Any]]
    tasks: list[dict[str, Any]]
    seconds: float
    is_clicked: bool

    @property
    def was_red(self) -> bool:
        return any(not answer["is_ok"] for answer in self.before)


def make_token(host: Host) -> str:
    return in_python(host, MAKE_TOKEN)


def in_python(host: Host, program: str) -> str:
    """The last line that a program prints which knows what the scheduler knows."""
    python = "/opt/groundcrew/current/bin/python"
    settings = ". /etc/groundcrew/groundcrew.env; . /etc/groundcrew/scheduler.env"
    return host.ask(f"set -a; {settings}; cd /; {python} - <<'END'\n{program}END\n").splitlines()[-1]


@dataclass
class Mender:
    """An administrator's program with a token of the scope `repair`, or the administrator in a browser."""

    host: Host
    token: str
    pages: RepairPages | None = None
    """The repair is asked for by clicks where they are there, and the page shows its run until the verdict."""

    @property
    def url(self) -> str:
        return f"https://{self.host.address}"

    def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        headers = {"Authorization": f"Bearer {self.token}"}
        # The host's own authority is known to nobody outside of it.
        answer = httpx.request(
            method, f"{self.url}/api/v1/{path}", json=body, headers=headers, verify=False, timeout=60
        )
        assert answer.status_code < 300, answer.text
        return answer.json() if answer.content else None

    def mend(
        self,
        broken: Break,
        within: float = 900,
        is_dry_run: bool = False,
        on: Host | None = None,
        nodes: Sequence[Host] = (),
    ) -> Mended:
        """The runner of repairs is held back until the host is broken, so that it sees the break as its first thing.

        `on`: another host than the master, which is broken; `nodes`: those chosen where that is not the one alone.
        A repair of the master leaves no choice.
        """
        self.host.wait_until(f"{ask_rows(UNDER_WAY)} | grep -x 0", within)
        names = [host.name for host in nodes or [on or self.host]]
        self.host.ask("systemctl stop groundcrew-repair")
        run_id = self.ask(broken, names, is_dry_run)
        (on or self.host).ask(broken.command)
        started = time.monotonic()
        self.host.ask("systemctl start groundcrew-repair")
        self.host.wait_until(f"{query(run_id, 'verdict')} | grep .", within)
        mended = self.read(run_id)
        # Where nothing was mended the portal may be what does not come.
        if self.pages is not None and mended.verdict == "verified":
            assert self.pages.follow(SHOWN_WITHIN) == "verified"
        return replace(mended, seconds=time.monotonic() - started)

    def ask(self, broken: Break, names: Sequence[str], is_dry_run: bool) -> int:
        """The number of the run."""
        seen = self.call("GET", f"repairs/{broken.repair}")
        chosen = [node for node in seen["nodes"] if node["name"] in names]
        if self.pages is not None:
            return self.pages.ask(
                broken.repair, REASON, [node["name"] for node in chosen], is_dry_run, broken.typed
            )
        ids = [node["id"] for node in chosen]
        if ids:
            seen = self.call("GET", f"repairs/{broken.repair}?nodes={','.join(map(str, ids))}")
        typed = seen["host"] if broken.typed else ""
        body = {"etag": seen["etag"], "reason": REASON, "typed": typed, "look_ahead": is_dry_run}
        asked = self.call("POST", f"repairs/{broken.repair}", body | ({"nodes": ids} if ids else {}))
        return int(asked["id"])

    def type_at_the_console(self, title: str) -> Mended:
        """As whoever is root on the master, in a terminal that nobody sits at."""
        shown = self.host.ask(f"printf '' | {CONSOLE}")
        number = re.search(rf"(\d+)  {re.escape(title)}", shown)
        assert number is not None, shown
        said = self.host.ask(f"printf '%s\\n' {number[1]} 'it does not come' q | {CONSOLE}")
        run_id = re.search(r"Repair (\d+) was asked for", said)
        assert run_id is not None, said
        return self.read(int(run_id[1]))

    def read(self, run_id: int) -> Mended:
        """From the rows: the portal may be what did not come back."""
        what = "json_build_array(verdict, before, checks, tasks, extract(epoch from ended_at - requested_at))"
        return Mended(*json.loads(self.host.ask(query(run_id, what))), self.pages is not None)


SHOWN_WITHIN = 90
"""Seconds after the verdict: a portal that has been away is asked again after pauses."""
CONSOLE = "LANG=C.UTF-8 groundcrew-console"
UNDER_WAY = "select count(*) from repair_runs where ended_at is null"


def ask_rows(question: str) -> str:
    return f'sudo -u postgres psql -At groundcrew -c "{question}"'


def query(run_id: int, what: str) -> str:
    return ask_rows(f"select {what} from repair_runs where id = {run_id}")


HEAD = """# Repairs of servers

By `tests/hosts/appliance/test_repairs.py` on a host that `site.yml` has installed: broken for real, seen red, asked for
by clicks in chromium or over REST, judged by the checks. A host is a container with systemd; stand-ins are named as
such. Seconds are from the moment in which the runner of repairs could see the run to its verdict, with the look before
and the look after; where it was clicked, until the page that stayed open all the time showed the verdict.

| repair | break | asked for | seconds | verdict | load | commit | date |
|---|---|---|---:|---|---:|---|---|
"""


def write_down(broken: Break, mended: Mended) -> None:
    """One line per repair and break, the newest; what is written below the table stays."""
    lines = TABLE.read_text().splitlines() if TABLE.exists() else []
    last = max((number for number, line in enumerate(lines, 1) if line.startswith("|")), default=0)
    below = lines[last:] if last else []
    rows = [line for line in lines if line.startswith("| ") and not line.startswith("| repair")]
    begins = f"| {broken.repair} | {broken.words} |"
    way = "click" if mended.is_clicked else "REST"
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=TABLE.parent, capture_output=True, text=True, check=True
    ).stdout.strip()
    day, load = datetime.now(UTC).date().isoformat(), os.getloadavg()[0]
    rows = [row for row in rows if not row.startswith(begins)]
    rows.append(f"{begins} {way} | {mended.seconds:.0f} | {mended.verdict} | {load:.1f} | {commit} | {day} |")
    TABLE.write_text(HEAD + "\n".join([*sorted(rows), *below]) + "\n")
