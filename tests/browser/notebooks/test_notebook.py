"""A notebook in a real browser: opened, a cell run, saved, a job made of it; and a hostile page in it gets nothing."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

import psutil
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Request, Route, expect
from sqlalchemy import select

from cluster.domain.states import TrainingKind, Visibility
from cluster.services import trainings
from cluster.services.context import Cluster
from cluster.services.jobs import stop_requests
from cluster.services.notebooks import notebook_rows
from cluster.settings import Settings
from cluster.store.jobs import Attempt, JobEvent, Notebook
from cluster.store.trainings import Training
from cluster.store.users import User
from tests.browser.conftest import signed_in
from tests.browser.notebooks.jupyterlab import IDLE_KERNEL, LONG_MS, run_cell, type_and_run, type_in_cell
from tests.browser.page_list import look_at
from tests.builders import a_user, a_workspace, actor_of
from tests.installation import Installation, an_installation
from tests.integration.ready_installation import has_editor, wait_until
from worker.composition import open_cluster
from worker.embedded.settings_file import read_settings_file, write_settings_file
from worker.embedded.supervisor_client import SupervisorClient

CODE = [("train.py", b"print('from version 1')\n")]
HOSTILE = """async ([portal, other, cookies]) => {
  const got = {};
  const attempt = async (name, act) => { try { got[name] = await act(); } catch (error) { got[name] = 'refused'; } };
  got.cookies = document.cookie;
  await attempt('page', async () => (await fetch(portal + '/', {credentials: 'include'})).status);
  await attempt('rest', async () => (await fetch(portal + '/api/v1/jobs', {credentials: 'include'})).status);
  await attempt('write', async () => (await fetch(portal + '/jobs/1/stop', {
    method: 'POST', credentials: 'include', headers: {'Content-Type': 'application/x-www-form-urlencoded'},
    body: 'csrf_token=x'})).status);
  await attempt('worker', async () => {
    await navigator.serviceWorker.register('files/sw.js', {scope: './'}); return 'installed'; });
  await attempt('gate', async () => (await fetch('/notebook-gate')).status);
  await attempt('other', async () => (await fetch(`/nb/${other}/api/kernels`, {redirect: 'error'})).status);
  await attempt('frame', () => new Promise((resolve) => {
    const frame = document.createElement('iframe');
    frame.addEventListener('load', () => {
      try { resolve(frame.contentDocument ? 'blank' : 'closed'); } catch (error) { resolve('closed'); } });
    frame.src = portal + '/';
    document.body.append(frame);
    setTimeout(() => resolve('blocked'), 3000);
  }));
  document.cookie = 'gc_session_PORT=evil; Domain=localhost; Path=/';
  document.cookie = 'gc_session_PORT=evil; Path=/';
  for (let number = 0; number < cookies; number++) document.cookie = `many${number}=x; Path=/`;
  await attempt('picture', () => new Promise((resolve) => {
    const picture = document.createElement('img');
    picture.addEventListener('load', () => resolve('shown'));
    picture.addEventListener('error', () => resolve('refused'));
    picture.src = portal + '/access-log';
  }));
  return got;
}"""


@dataclass
class Place:
    installation: Installation
    cluster: Cluster
    owner: User
    training: Training

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.installation.port}"

    def use_address(self, setting: str) -> None:
        """How notebooks are reached from now on; the services begin anew, and notebooks go on."""
        self.use("GROUNDCREW_NOTEBOOK_ADDRESS", setting)

    def use(self, name: str, setting: str) -> None:
        file = self.installation.places.settings_file
        if read_settings_file(file).get(name, "") != setting:
            write_settings_file(file, {name: setting})
            self.installation.up()

    def stop_notebooks(self) -> None:
        actor = actor_of(self.owner)
        for state in notebook_rows.list_own_notebooks(self.cluster, actor):
            stop_requests.stop_job(self.cluster, actor, state.job.id)
        until = time.monotonic() + 60
        while notebook_rows.list_own_notebooks(self.cluster, actor):
            assert time.monotonic() < until, "the notebook does not end"
            time.sleep(0.2)


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    with an_installation() as installation:
        installation.up()
        settings = read_settings_file(installation.places.settings_file)
        cluster = open_cluster(Settings.from_environment({**os.environ, **settings}))
        # Where nothing is built yet, the training environment comes first.
        wait_until(lambda: has_editor(cluster), 1500, "JupyterLab")
        owner = a_user(cluster, "minji")
        workspace = a_workspace(cluster, owner, units=2)
        made = a_training(cluster, owner, workspace.id, "shapes")
        yield Place(installation, cluster, owner, made)
        cluster.store.close()


def a_training(cluster: Cluster, owner: User, workspace_id: int, name: str) -> Training:
    return trainings.create_training(
        *(cluster, actor_of(owner), workspace_id, name, ""),
        *(TrainingKind.ADVANCED, None, Visibility.PUBLIC, CODE),
    )


@pytest.fixture
def visit(browser: Browser, place: Place) -> Iterator[Callable[[str], Page]]:
    """Opens an empty page in which the owner is signed in; nothing may be asked of any other site meanwhile."""
    contexts, asked = list[BrowserContext](), set[str]()

    def open_page(language: str) -> Page:
        context = browser.new_context(
            base_url=place.url,
            locale={"ko": "ko-KR", "en": "en-US"}[language],
            storage_state=signed_in(place.cluster, place.owner, place.url),
            reduced_motion="reduce",
        )
        context.on("request", lambda request: asked.add(urlsplit(request.url).hostname or ""))
        contexts.append(context)
        return context.new_page()

    yield open_page
    for context in contexts:
        context.close()
    assert {host for host in asked if host != "127.0.0.1" and not host.endswith(".localhost")} <= {""}


def open_lab(page: Page, training: int) -> str:
    """From the training's page into JupyterLab; its address."""
    page.goto(f"/trainings/{training}/notebook")
    since = time.monotonic()
    page.locator(".form-foot .btn-ink").click(no_wait_after=True)
    page.wait_for_url(re.compile(r"/jobs/\d+/notebook|/nb/\d+/"))
    print(f"progress page after {time.monotonic() - since:.2f} s")
    page.wait_for_url(re.compile(r"/nb/\d+/lab"), timeout=LONG_MS)
    page.locator(".jp-DirListing").wait_for(timeout=LONG_MS)
    print(f"JupyterLab after {time.monotonic() - since:.2f} s")
    # JupyterLab opens what an earlier visit left open, unless it is asked not to.
    page.goto(re.sub(r"/lab.*", "/lab?reset", page.url))
    page.locator(".jp-LauncherCard").first.wait_for(timeout=LONG_MS)
    return page.url


def test_a_training_opens_in_jupyterlab(visit: Callable[[str], Page], place: Place) -> None:
    page = visit("ko")
    job = re.search(r"/nb/(\d+)/", open_lab(page, place.training.id))
    assert job is not None
    look_at(page, "notebook", f"{place.url}/jobs/{job[1]}/notebook", "ko")


@pytest.mark.long
def test_a_cell_is_run_saved_and_becomes_a_job(visit: Callable[[str], Page], place: Place) -> None:
    page, since = visit("ko"), time.monotonic()
    open_lab(page, place.training.id)
    page.locator(".jp-LauncherCard[data-category='Notebook']").first.click()
    run_cell(page, "import os; print('seen', 6 * 7, os.getuid()); open('train.py', 'w').write('print(7)\\n')")
    output = page.locator(".jp-OutputArea-output").first
    expect(output).to_contain_text("seen 42", timeout=LONG_MS)
    print(f"first cell after {time.monotonic() - since:.2f} s")
    if os.geteuid() == 0:
        expect(output).to_contain_text(str(place.cluster.settings.job_ids.uid_of(place.owner.id)))
    page.goto(f"{place.url}/trainings/{place.training.id}/notebook")
    page.get_by_role("button", name="저장하고 작업 시작").click()
    expect(page).to_have_url(re.compile(r"/jobs/new$"))
    page.get_by_role("button", name=re.compile("작업 1개 만들기")).click()
    expect(page.locator(".pill")).to_have_text("끝남", timeout=LONG_MS)
    with place.cluster.store.read() as session:
        assert session.get_one(Training, place.training.id).code_version == 2


@pytest.mark.long
def test_a_cell_that_is_run_before_the_kernel_has_started_says_so(
    visit: Callable[[str], Page], place: Place
) -> None:
    page, held = visit("en"), list[Route]()
    open_lab(page, place.training.id)
    is_held = threading.Event()
    is_held.set()
    page.route(
        "**/api/sessions?*", lambda route: held.append(route) if is_held.is_set() else route.continue_()
    )
    page.locator(".jp-LauncherCard[data-category='Notebook']").first.click()
    type_and_run(page, "print('seen', 6 * 7)")
    expect(page.locator(".Toastify__toast")).to_contain_text("is still initializing", timeout=LONG_MS)
    is_held.clear()
    for route in held:
        route.continue_()
    expect(page.locator("#jp-main-statusbar")).to_contain_text(IDLE_KERNEL, timeout=LONG_MS)
    page.locator(".jp-Notebook-cell .cm-content").first.click()
    page.keyboard.press("Shift+Enter")
    expect(page.locator(".jp-OutputArea-output").first).to_contain_text("seen 42", timeout=LONG_MS)


@pytest.mark.long
def test_a_kernel_outlives_portal_scheduler_and_nginx(visit: Callable[[str], Page], place: Place) -> None:
    page = visit("en")
    open_lab(page, place.training.id)
    page.locator(".jp-LauncherCard[data-category='Console']").first.wait_for(timeout=LONG_MS)
    page.locator(".jp-LauncherCard[data-category='Notebook']").first.click()
    run_cell(page, "x = 6 * 7; print('seen', x)")
    expect(page.locator(".jp-OutputArea-output").first).to_contain_text("seen 42", timeout=LONG_MS)
    supervisor = SupervisorClient(place.installation.places)
    for service in ("portal", "scheduler", "nginx"):
        supervisor.restart_service(service)
    # JupyterLab connects again within half a minute, and shows the kernel as "Unknown" until a cell is run.
    reconnecting = page.locator("#jp-main-statusbar", has_text="Connecting")
    reconnecting.wait_for(timeout=LONG_MS)
    expect(reconnecting).to_have_count(0, timeout=LONG_MS)
    type_and_run(page, "print('still', x)")
    expect(page.locator(".jp-OutputArea-output").nth(1)).to_contain_text("still 42", timeout=LONG_MS)


@pytest.mark.long
def test_an_idle_notebook_is_stopped_with_unsaved_cells_saved_and_comes_back(
    visit: Callable[[str], Page], place: Place
) -> None:
    """JupyterLab saves an open page by its contents API; nobody presses Save or runs the cell."""
    place.stop_notebooks()
    quiet = a_training(place.cluster, place.owner, place.training.workspace_id, "quiet")
    place.use("GROUNDCREW_NOTEBOOK_IDLE_MINUTES", "1")
    try:
        page, saves = visit("en"), list[str]()
        page.on("request", lambda sent: sent.method == "PUT" and saves.append(urlsplit(sent.url).path))
        address = open_lab(page, quiet.id)
        number = re.search(r"/nb/(\d+)/", address)
        assert number is not None
        job = int(number[1])
        page.locator(".jp-LauncherCard[data-category='Notebook']").first.click()
        expect(page.locator("#jp-main-statusbar")).to_contain_text(IDLE_KERNEL, timeout=LONG_MS)
        type_in_cell(page, "typed = 'and never saved by hand'")
        shown = visit("en")
        shown.goto(f"{place.url}/jobs/{job}/notebook")
        keep = shown.get_by_role("button", name="Keep it running")
        expect(keep).to_be_visible(timeout=4 * LONG_MS)
        expect(shown.locator(".pill")).to_have_text("Stopped", timeout=4 * LONG_MS)
        with place.cluster.store.read() as session:
            events = session.scalars(select(JobEvent).where(JobEvent.job_id == job).order_by(JobEvent.id))
            codes = [event.code for event in events]
        assert codes.index("notebook.idle_announced") < codes.index("notebook.idle_stop")
        assert any("/api/contents/" in path for path in saves), saves
        place.use("GROUNDCREW_NOTEBOOK_IDLE_MINUTES", "120")
        shown.get_by_role("button", name="Start it again").click()
        shown.wait_for_url(re.compile(r"/nb/\d+/lab"), timeout=LONG_MS)
        shown.locator(".jp-DirListing-item", has_text=".ipynb").last.dblclick()
        expect(shown.locator(".jp-Notebook-cell .cm-content").first).to_contain_text(
            "and never saved by hand", timeout=LONG_MS
        )
    finally:
        place.use("GROUNDCREW_NOTEBOOK_IDLE_MINUTES", "120")


@pytest.mark.long
def test_after_all_its_processes_are_lost_it_starts_again_and_one_click_opens_its_files(
    visit: Callable[[str], Page], place: Place
) -> None:
    """As a machine that loses its power: nothing of the notebook, its kernel and its shim says that it ends."""
    place.stop_notebooks()
    lost = a_training(place.cluster, place.owner, place.training.workspace_id, "lost")
    page = visit("en")
    job = re.search(r"/nb/(\d+)/", open_lab(page, lost.id))
    assert job is not None
    page.locator(".jp-LauncherCard[data-category='Notebook']").first.click()
    run_cell(page, "open('kept.txt', 'w').write('kept'); print('written')")
    expect(page.locator(".jp-OutputArea-output").first).to_contain_text("written", timeout=LONG_MS)
    kill_at_once(place, int(job[1]))
    wait_until(lambda: ready_attempt(place, int(job[1])) == 2, 60, "the second attempt")
    shown = visit("en")
    shown.goto(f"{place.url}/jobs/{job[1]}/notebook")
    shown.get_by_role("button", name="Open JupyterLab").click(timeout=LONG_MS)
    shown.wait_for_url(re.compile(r"/nb/\d+/lab"), timeout=LONG_MS)
    expect(shown.locator(".jp-DirListing-item", has_text="kept.txt")).to_be_visible(timeout=LONG_MS)


def ready_attempt(place: Place, job: int) -> int | None:
    with place.cluster.store.read() as session:
        return session.get_one(Notebook, job).ready_attempt


def kill_at_once(place: Place, job: int) -> None:
    running = select(Attempt.handle).where(Attempt.job_id == job, Attempt.ended_at.is_(None))
    with place.cluster.store.read() as session:
        handle = session.scalars(running).one()
    assert handle is not None
    shim = psutil.Process(handle["pid"])
    lost = [shim, *shim.children(recursive=True)]
    assert len(lost) > 2, "the shim, JupyterLab and its kernel"
    for process in lost:
        process.suspend()
    for process in lost:
        process.kill()


@pytest.mark.long
@pytest.mark.parametrize("setting", ["", "nb.localhost", ":port"])
def test_a_hostile_page_gets_nothing(visit: Callable[[str], Page], place: Place, setting: str) -> None:
    port = place.installation.port
    place.use_address(f":{port + 1}" if setting == ":port" else setting)
    page = visit("en")
    address = open_lab(page, place.training.id)
    assert "token" not in address and "ticket" not in address
    sent: list[Request] = []
    page.on("request", lambda request: sent.append(request))
    # With the port alone so many cookies sign the person out, as docs/topic/notebooks.md says.
    got = page.evaluate(
        HOSTILE.replace("PORT", str(port)), [place.url, 999, 0 if setting == ":port" else 400]
    )
    asked = [request for request in sent if request.url.startswith(f"{place.url}/")]
    assert len(asked) >= 4
    answers = [each.response() for each in asked]
    assert {answer.status for answer in answers if answer} <= {403}, (
        "the portal works for a page of a notebook"
    )
    if setting != ":port":
        assert not [each.url for each in asked if "gc_session" in each.all_headers().get("cookie", "")]
    assert got.pop("frame") in ("blocked", "closed")
    # With the port alone the page reads the one cookie that scripts of the portal read too: no secret.
    assert got.pop("cookies") in ("", "gc_time_zone=UTC") if setting == ":port" else got.pop("cookies") == ""
    assert got.pop("gate") in (404, "refused") and got.pop("other") in ("refused", 401, 403)
    assert got == dict.fromkeys(("page", "rest", "write", "worker", "picture"), "refused")
    page.goto(place.url)
    cookies = [each for each in page.context.cookies(place.url) if each["name"] == f"gc_session_{port}"]
    assert [each["httpOnly"] for each in cookies] == [True]
    expect(page.locator("a.who")).to_contain_text("minji")
