"""A notebook of a workspace on three hosts: begun by the scheduler, asked from the master, and ended like any job."""

import json
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from cluster.domain.notebooks import jupyter_server
from tests.hosts.kube.conftest import Cluster
from tests.hosts.kube.scenarios import portal_user as pilots
from tests.hosts.kube.scenarios.notebooks import COMMAND, TOKEN, ask_status, begins_notebooks, run_cell
from tests.hosts.kube.scenarios.portal_user import END_WORKSPACE, MAKE_CODE, Pilot, measured

pytestmark = pytest.mark.long
CELL = """
import os
import numpy
with open("seen.txt", "w") as file:
    file.write("from a cell")
print(os.getuid(), int(numpy.arange(8).sum()), os.access("/usr", os.W_OK))
"""


@dataclass(frozen=True)
class Notebook:
    pilot: Pilot
    job: int
    space: str
    """Its namespace."""

    @property
    def name(self) -> str:
        return f"gc-{self.job}-1"

    def kubectl(self, words: str) -> str:
        return self.pilot.cluster.kubectl(f"-n {self.space} {words}")

    def read(self, thing: str) -> dict[str, Any]:
        return dict(json.loads(self.kubectl(f"get {thing} -o json")))

    @property
    def log(self) -> str:
        """What Jupyter says of itself and of who has asked."""
        return str(self.pilot.call("GET", f"jobs/{self.job}/log?stream=stderr"))

    @property
    def url(self) -> str:
        address = self.read(f"service {self.name}")["spec"]["clusterIP"]
        return f"http://{address}:{jupyter_server.PORT}{jupyter_server.base_path(self.job).rstrip('/')}"


@pytest.fixture(scope="module")
def pilot(installed: Cluster) -> Iterator[Pilot]:
    """With a workspace of one unit."""
    pilot = pilots.enter(installed)
    pilot.made["workspace"] = pilot.workspace(f"notebooks-{time.time():.0f}", 1)
    yield pilot
    pilot.do(END_WORKSPACE, **pilot.made)


@pytest.fixture(scope="module")
def notebook(pilot: Pilot) -> Iterator[Notebook]:
    """Found by a scheduler that has not begun it."""
    training = pilot.do(MAKE_CODE, **pilot.made, name="notebook", code="print('a file of its own')")
    since = time.monotonic()
    with begins_notebooks(pilot.cluster.master):
        job = pilot.submit(training, 1, command=[COMMAND], launcher="plain")
        pilot.wait(job, "running")
    made = Notebook(pilot, job, f"gc-workspace-{pilot.made['workspace']}")
    pilot.cluster.wait(f"-n {made.space} wait --for=condition=Ready pod/{made.name} --timeout=5s", 300)
    measured("a notebook: submitted to ready", time.monotonic() - since)
    yield made
    pilot.stop(job)


def test_it_answers_to_its_token_and_to_nobody_else(notebook: Notebook) -> None:
    """By its service, from the master, where the portal is."""
    since = time.monotonic()
    assert ask_status(notebook.pilot.cluster.master, notebook.url) == [403, 403, 200]
    measured("a notebook: asked three times from the master", time.monotonic() - since)


def test_a_cell_runs_as_the_users_own_number_on_a_read_only_system(notebook: Notebook) -> None:
    pod = notebook.read(f"pod {notebook.name}")
    user = pod["spec"]["securityContext"]["runAsUser"]
    told = run_cell(notebook.pilot.cluster.master, notebook.url, CELL)
    assert told == {"status": "ok", "said": f"{user} 28 False\n"}
    seen = notebook.pilot.folder(notebook.job) / "out" / "work" / "seen.txt"
    assert seen.read_text() == "from a cell" and seen.stat().st_uid == user
    assert (seen.parent / "main.py").exists(), "beside the files of its training"


def test_who_asks_from_the_master_is_let_in_by_the_workspaces_policy(notebook: Notebook) -> None:
    """Whether anybody enforces it or not: what the pod sees is an address that the policy names."""
    ask_status(notebook.pilot.cluster.master, notebook.url)
    (rule,) = notebook.read("networkpolicy door")["spec"]["ingress"]
    blocks = {each["ipBlock"]["cidr"] for each in rule["from"]}
    seen = {
        f"{address}/32"
        for address in re.findall(r"403 GET /nb/[0-9]+/api/status \(@([0-9.]+)\)", notebook.log)
    }
    assert seen and seen <= blocks, (seen, blocks)


def test_its_token_stands_nowhere_in_kubernetes_and_not_in_its_log(notebook: Notebook) -> None:
    things = notebook.kubectl("get pods,services,configmaps,secrets,events -o json")
    assert notebook.name in things and TOKEN not in things
    assert "Jupyter Server" in notebook.log and TOKEN not in notebook.log


def test_it_is_stopped_like_any_job(notebook: Notebook) -> None:
    pilot, since = notebook.pilot, time.monotonic()
    (only,) = pilot.attempts(notebook.job)
    assert only["ended_at"] is None, "the scheduler that came after has only found it"
    pilot.stop(notebook.job)
    measured("a notebook: stopped", time.monotonic() - since)
    assert pilot.job(notebook.job)["state"] == "stopped"
    assert notebook.kubectl("get services -o name") == "", "it goes before the units are free"
    free = f"select id from allocations where attempt_id = {only['id']} and ended_at is null"
    assert pilot.rows(free) == []
    pilot.until(lambda: notebook.kubectl("get pods -o name") == "", 60, "that its pod is deleted")
    pilot.check()
