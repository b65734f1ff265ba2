"""A notebook of a workspace on three hosts: begun by the scheduler, asked from the master, and ended like any job.

Once its node has the image a person opens another in the browser, through nginx of the master.
"""

import json
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from cluster.domain.notebooks import jupyter_server
from tests.browser.journey import sign_in
from tests.browser.notebooks.jupyterlab import IDLE_KERNEL, LONG_MS
from tests.browser.notebooks.jupyterlab import run_cell as run_in_browser
from tests.hosts.kube.conftest import Cluster
from tests.hosts.kube.scenarios import portal_user as pilots
from tests.hosts.kube.scenarios.notebooks import ask_status, run_cell
from tests.hosts.kube.scenarios.portal_user import END_WORKSPACE, MAKE_CODE, Pilot, measured

pytestmark = pytest.mark.long
GIVEN_UP_WITHIN = 150
"""Seconds: the grace time of a silent node is 60 in this inventory."""
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
    training: int
    space: str
    """Its namespace."""
    token: str
    """What nginx sends with each request."""

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
    def copies(self) -> Path:
        """The working copies of its training, one for each person, on this machine."""
        shared = self.pilot.cluster.bed.shared
        assert shared is not None
        workspace = str(self.pilot.made["workspace"])
        return shared / "workspaces" / workspace / "notebooks" / str(self.training)

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
    """Ready; its node may have had to bring the image."""
    training = pilot.do(MAKE_CODE, **pilot.made, name="notebook", code="print('a file of its own')")
    since = time.monotonic()
    job = int(pilot.call("POST", "notebooks", {"training_id": training})["job_id"])
    pilot.until(lambda: pilot.call("GET", f"notebooks/{job}")["is_ready"], 600, "the notebook", job)
    measured("a notebook: submitted to ready", time.monotonic() - since)
    (row,) = pilot.rows(f"select token from notebooks where job_id = {job}")
    made = Notebook(pilot, job, training, f"gc-workspace-{pilot.made['workspace']}", row["token"])
    yield made
    pilot.stop(job)


def test_it_answers_to_its_token_and_to_nobody_else(notebook: Notebook) -> None:
    """By its service, from the master, where the portal is."""
    since = time.monotonic()
    assert ask_status(notebook.pilot.cluster.master, notebook.url, notebook.token) == [403, 403, 200]
    measured("a notebook: asked three times from the master", time.monotonic() - since)


def test_a_cell_runs_as_the_users_own_number_on_a_read_only_system(notebook: Notebook) -> None:
    pod = notebook.read(f"pod {notebook.name}")
    user = pod["spec"]["securityContext"]["runAsUser"]
    told = run_cell(notebook.pilot.cluster.master, notebook.url, notebook.token, CELL)
    assert told == {"status": "ok", "said": f"{user} 28 False\n"}
    (seen,) = notebook.copies.glob("*/files/seen.txt")
    assert seen.read_text() == "from a cell" and seen.stat().st_uid == user
    assert (seen.parent / "main.py").exists(), "beside the files of its training"


def test_who_asks_from_the_master_is_let_in_by_the_workspaces_policy(notebook: Notebook) -> None:
    """Whether anybody enforces it or not: what the pod sees is an address that the policy names."""
    ask_status(notebook.pilot.cluster.master, notebook.url, notebook.token)
    (rule,) = notebook.read("networkpolicy door")["spec"]["ingress"]
    blocks = {each["ipBlock"]["cidr"] for each in rule["from"]}
    seen = {
        f"{address}/32"
        for address in re.findall(r"403 GET /nb/[0-9]+/api/status \(@([0-9.]+)\)", notebook.log)
    }
    assert seen and seen <= blocks, (seen, blocks)


def test_its_token_stands_nowhere_in_kubernetes_and_not_in_its_log(notebook: Notebook) -> None:
    things = notebook.kubectl("get pods,services,configmaps,secrets,events -o json")
    assert notebook.name in things and notebook.token not in things
    assert "Jupyter Server" in notebook.log and notebook.token not in notebook.log


def test_it_is_stopped_like_any_job(notebook: Notebook) -> None:
    pilot, since = notebook.pilot, time.monotonic()
    (only,) = pilot.attempts(notebook.job)
    assert only["ended_at"] is None
    pilot.stop(notebook.job)
    measured("a notebook: stopped", time.monotonic() - since)
    assert pilot.job(notebook.job)["state"] == "stopped"
    assert notebook.kubectl("get services -o name") == "", "it goes before the units are free"
    free = f"select id from allocations where attempt_id = {only['id']} and ended_at is null"
    assert pilot.rows(free) == []
    pilot.until(lambda: notebook.kubectl("get pods -o name") == "", 60, "that its pod is deleted")
    pilot.check()


def test_a_person_opens_it_in_the_browser_and_runs_a_cell(notebook: Notebook, browser: Browser) -> None:
    """By clicks; a node that has run one has the image."""
    pilot = notebook.pilot
    pilot.stop(notebook.job)
    with browser.new_context(base_url=pilot.url, ignore_https_errors=True, locale="en-US") as context:
        page = context.new_page()
        sign_in(page, "ops")
        page.goto(f"/trainings/{notebook.training}/notebook")
        since = time.monotonic()
        page.get_by_role("button", name="Open JupyterLab").click()
        page.wait_for_url(re.compile(r"/jobs/\d+/notebook|/nb/\d+/"))
        measured("a notebook in the browser: its page after the click", time.monotonic() - since)
        page.wait_for_url(re.compile(r"/nb/\d+/lab"), timeout=LONG_MS)
        page.locator(".jp-LauncherCard[data-category='Notebook']").first.click(timeout=LONG_MS)
        expect(page.locator("#jp-main-statusbar")).to_contain_text(IDLE_KERNEL, timeout=LONG_MS)
        measured("a notebook in the browser: the click to an idle kernel", time.monotonic() - since)
        run_in_browser(page, "import torch; print(6 * 7, open('seen.txt').read())")
        said = page.locator(".jp-OutputArea-output").last
        expect(said).to_contain_text("42 from a cell", timeout=LONG_MS)
    own = pilot.call("GET", "notebooks")["items"]
    (living,) = (each["job_id"] for each in own if each["training"]["id"] == notebook.training)
    pilot.stop(living)
    pilot.check()


def test_after_its_node_is_lost_it_starts_again_and_one_click_opens_its_files(
    pilot: Pilot, browser: Browser
) -> None:
    """On the other worker: nobody is back before that."""
    training = pilot.do(MAKE_CODE, **pilot.made, name="lost", code="print(1)")
    bed = pilot.cluster.bed
    with browser.new_context(base_url=pilot.url, ignore_https_errors=True, locale="en-US") as context:
        page = context.new_page()
        sign_in(page, "ops")
        page.goto(f"/trainings/{training}/notebook")
        page.get_by_role("button", name="Open JupyterLab").click()
        page.wait_for_url(re.compile(r"/nb/\d+/lab"), timeout=LONG_MS)
        found = re.search(r"/nb/(\d+)/", page.url)
        assert found, page.url
        job = int(found[1])
        page.locator(".jp-LauncherCard[data-category='Notebook']").first.click(timeout=LONG_MS)
        run_in_browser(page, "open('kept.txt', 'w').write('kept'); print('written')")
        expect(page.locator(".jp-OutputArea-output").last).to_contain_text("written", timeout=LONG_MS)
        (node,) = pilot.pods(job).values()
        lost = next(name for name, host in bed.hosts.items() if host.name == node)
        since = time.monotonic()
        bed.kill(lost)
        try:
            pilot.until(lambda: pilot.attempts(job)[0]["ended_at"], GIVEN_UP_WITHIN, "its end", job)
            measured("power cut under a notebook: given up", time.monotonic() - since)
            assert pilot.attempts(job)[0]["end_code"] == "interrupted.node_lost"
            pilot.until(lambda: is_ready_again(pilot, job), 120, "the notebook on the other worker", job)
            measured("power cut under a notebook: ready on the other worker", time.monotonic() - since)
            assert set(pilot.pods(job).values()) - {node}
            shown = context.new_page()
            shown.goto(f"/jobs/{job}/notebook")
            clicked = time.monotonic()
            shown.get_by_role("button", name="Open JupyterLab").click()
            shown.wait_for_url(re.compile(r"/nb/\d+/lab"), timeout=LONG_MS)
            kept = shown.locator(".jp-DirListing-item", has_text="kept.txt")
            expect(kept).to_be_visible(timeout=LONG_MS)
            measured("power cut under a notebook: one click to its files", time.monotonic() - clicked)
        finally:
            bed.power_on(lost)
    pilot.stop(job)
    pilot.cluster.wait(f"wait --for=condition=Ready node/{node} --timeout=5s", 300)
    pilot.check(within=180)


def is_ready_again(pilot: Pilot, job: int) -> bool:
    return len(pilot.attempts(job)) == 2 and bool(pilot.call("GET", f"notebooks/{job}")["is_ready"])
