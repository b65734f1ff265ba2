"""Uses the portal of a cluster on hosts as people do, and checks the invariants of its rows."""

import json
import os
import time
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from tests.crash.invariants.checker import violations
from tests.crash.invariants.row_snapshot import TABLES, Seen, as_moment
from tests.hosts.appliance.conftest import note
from tests.hosts.appliance.repair_scenarios import ask_rows, in_python, make_token
from tests.hosts.kube.conftest import Cluster

AS_OPS = """
import json
from datetime import timedelta
from sqlalchemy import select
from cluster.domain.people.actor import Actor
from cluster.domain.states import TrainingKind, Visibility
from cluster.services import datasets, trainings
from cluster.services.people import api_tokens
from cluster.services.workspaces import lifecycle
from cluster.settings import Settings
from cluster.store.users import User
from worker.composition import open_cluster
cluster = open_cluster(Settings.from_environment())
with cluster.store.read() as session:
    user = session.scalar(select(User).where(User.name == "ops"))
actor = Actor(user.id, user.name, True)
today = lifecycle.local_today(cluster)
"""
MAKE_WORKSPACE = """
made = lifecycle.create_workspace(cluster, actor, {name!r}, "", today, today + timedelta(days=6), {units}, "ops")
print(made.id)
"""
END_WORKSPACE = "lifecycle.end_workspace(cluster, actor, {workspace})\nprint(0)\n"
MAKE_DIGITS = "print(datasets.create_sample(cluster, actor, {workspace}).id)\n"
MAKE_MODEL = """
made = trainings.create_training(
    cluster, actor, {workspace}, {name!r}, "", TrainingKind.BUILT_IN, {name!r}, Visibility.PUBLIC)
print(made.id)
"""
MAKE_CODE = """
made = trainings.create_training(
    cluster, actor, {workspace}, {name!r}, "", TrainingKind.ADVANCED, None, Visibility.PUBLIC,
    [("main.py", {code!r}.encode())])
print(made.id)
"""
MAKE_FILES = """
made = trainings.create_training(
    cluster, actor, {workspace}, {name!r}, "", TrainingKind.ADVANCED, None, Visibility.PUBLIC,
    [(path, text.encode()) for path, text in {files!r}.items()])
print(made.id)
"""
MAKE_TOKEN = """
for token in api_tokens.list_api_tokens(cluster, actor):
    if token.name == "tests":
        api_tokens.revoke_api_token(cluster, actor, token.id)
print(api_tokens.create_api_token(cluster, actor, "tests", ["repair"], 1)[1])
"""
POLL_SECONDS = 0.5
OVER = ("finished", "failed", "stopped")


@dataclass
class Pilot:
    """With a token of an administrator, whose name is `ops`."""

    cluster: Cluster
    token: str
    made: dict[str, int] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"https://{self.cluster.master.address}"

    def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        # The installation's own authority is known to nobody outside of it.
        headers = {"Authorization": f"Bearer {self.token}"}
        answer = httpx.request(
            method, f"{self.url}/api/v1/{path}", json=body, headers=headers, verify=False, timeout=60
        )
        assert answer.status_code < 300, answer.text
        return answer.json() if "json" in answer.headers["content-type"] else answer.text

    def do(self, program: str, **words: object) -> int:
        """What the portal's forms do, for which REST has no word."""
        return int(in_python(self.cluster.master, AS_OPS + program.format(**words)))

    def workspace(self, name: str, units: int) -> int:
        return self.do(MAKE_WORKSPACE, name=name, units=units)

    def digits(self, workspace: int) -> int:
        made = self.do(MAKE_DIGITS, workspace=workspace)
        self.until(lambda: self.state_of_dataset(workspace) == "ready", 300, "the digits")
        return made

    def state_of_dataset(self, workspace: int) -> str:
        return str(self.call("GET", f"datasets?workspace_id={workspace}")["items"][0]["state"])

    def submit(self, training: int, units: int, **more: Any) -> int:
        return int(self.call("POST", "jobs", {"training_id": training, "units": units, **more})["id"])

    def job(self, job: int) -> dict[str, Any]:
        return dict(self.call("GET", f"jobs/{job}"))

    def until(self, is_so: Any, seconds: float, what: str, job: int | None = None) -> float:
        """How long it took. `job`: the one of which it is hoped; where that is over nobody hopes any more."""
        since = time.monotonic()
        while not is_so():
            if job is not None:
                self.must_go_on(self.job(job))
            late = time.monotonic() - since >= seconds
            assert not late, f"{what}: not within {seconds:.0f} s\n{self.why(job) if job is not None else ''}"
            time.sleep(POLL_SECONDS)
        return time.monotonic() - since

    def must_go_on(self, seen: dict[str, Any]) -> None:
        """Raises AssertionError with its last words where a job is over: it will never be anything else."""
        assert seen["state"] not in OVER, (seen["state"], seen["end"], self.words_of(seen["id"]))

    def wait(self, job: int, *states: str, seconds: float = 600) -> dict[str, Any]:
        """Until it is in one of these; a job that is over will never be in another."""
        since = time.monotonic()
        while (seen := self.job(job))["state"] not in states:
            self.must_go_on(seen)
            assert time.monotonic() - since < seconds, (seen["state"], seen["waiting"], self.why(job))
            time.sleep(POLL_SECONDS)
        return seen

    def why(self, job: int) -> str:
        """What the cluster has of it, for whoever reads the failure."""
        shown = "get pods,mpijobs,jobs,workloads -A -o wide -l groundcrew.io/job"
        events = "get events -A --sort-by=.lastTimestamp | tail -n 15"
        return "\n".join(map(self.cluster.kubectl, (f"{shown}={job}", events)))

    def words_of(self, job: int) -> str:
        """The last that it said, of all files of its last attempt."""
        folder = self.folder(job, len(self.attempts(job)))
        said = sorted([*folder.glob("out/*.std*"), *folder.glob("control/*.log")])
        return "\n".join(f"{each.name}: {each.read_text()[-800:]}" for each in said)

    def folder(self, job: int, attempt: int = 1) -> Path:
        """On this machine, which shares it with the hosts."""
        shared = self.cluster.bed.shared
        assert shared is not None
        workspace = self.job(job)["workspace"]["id"]
        return shared / "workspaces" / str(workspace) / "jobs" / str(job) / str(attempt)

    def log(self, job: int, source: str = "rank-0") -> str:
        return str(self.call("GET", f"jobs/{job}/log?source={source}"))

    def rows(self, question: str) -> Any:
        said = self.cluster.master.ask(ask_rows(f"select coalesce(json_agg(t), '[]') from ({question}) t"))
        return json.loads(said)

    def attempts(self, job: int) -> list[dict[str, Any]]:
        return list(self.rows(f"select * from attempts where job_id = {job} order by number"))

    def pods(self, job: int) -> dict[str, str]:
        """Name and node of its pods that are not over."""
        listed = json.loads(self.cluster.kubectl(f"get pods -A -o json -l groundcrew.io/job={job}"))["items"]
        return {
            pod["metadata"]["name"]: pod["spec"].get("nodeName", "")
            for pod in listed
            if pod["status"]["phase"] in ("Pending", "Running")
        }

    def stop(self, job: int) -> None:
        if self.job(job)["state"] not in OVER:
            self.call("POST", f"jobs/{job}/stop")
            self.until(lambda: self.job(job)["state"] in OVER, 120, f"the stop of job {job}")

    def see(self) -> Seen:
        tables = ", ".join(
            f"'{table}', (select coalesce(json_agg(t order by t.id), '[]') from {table} t)"
            for table in TABLES
        )
        told = json.loads(self.cluster.master.ask(ask_rows(f"select json_build_object({tables})")))
        rows = {
            table: [{key: as_moment(key, value) for key, value in row.items()} for row in told[table]]
            for table in TABLES
        }
        shared = self.cluster.bed.shared
        assert shared is not None
        return Seen(rows, [], shared)

    def violations(self) -> list[str]:
        return violations(self.see())

    def answers(self) -> bool:
        try:
            self.call("GET", "jobs?limit=1")
        except (httpx.HTTPError, AssertionError):
            return False
        return True

    def check(self, within: float = 60) -> None:
        """Nothing is wrong with the rows, no pod is there that no living attempt stands for, the audit is whole."""
        assert self.violations() == []
        self.until(lambda: not self.strays(), within, "pods that no living attempt stands for")
        self.cluster.master.ask("groundcrew-audit verify")

    def strays(self) -> Collection[str]:
        living = self.rows("select job_id, number from attempts where ended_at is null")
        known = {(str(each["job_id"]), str(each["number"])) for each in living}
        listed = json.loads(self.cluster.kubectl("get pods -A -o json -l groundcrew.io/part=run"))["items"]
        return [
            pod["metadata"]["name"]
            for pod in listed
            if pod["status"]["phase"] in ("Pending", "Running")
            and tuple(pod["metadata"]["labels"][f"groundcrew.io/{key}"] for key in ("job", "attempt"))
            not in known
        ]


def enter(cluster: Cluster) -> Pilot:
    """As the first administrator, with a token of its own."""
    if cluster.master.ask(ask_rows("select count(*) from users where name = 'ops'")) == "0":
        make_token(cluster.master)
    return Pilot(cluster, in_python(cluster.master, AS_OPS + MAKE_TOKEN))


def measured(words: str, seconds: float) -> None:
    note(f"gc-kube: {words}: {seconds:.1f} s, load of this machine {os.getloadavg()[0]:.1f}")
