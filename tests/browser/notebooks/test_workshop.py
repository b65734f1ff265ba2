"""The researcher's workshop as one walk: git, JupyterLab, jobs, packages, an environment, and SSH into a running job.

Prints the clicks and the seconds of each step; with GROUNDCREW_WALK=FOLDER it leaves a picture of each step there.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from cluster.domain.states import UserRole
from cluster.services.context import Cluster
from cluster.services.notebooks.editor_environment import load_editor
from cluster.services.ssh.door_state import read_door_state
from cluster.settings import Settings
from cluster.store.users import User
from tests.browser.conftest import LOCALES, signed_in
from tests.browser.journey import archive_of_shapes
from tests.browser.notebooks.jupyterlab import IDLE_KERNEL, LONG_MS, edit_file, run_cell
from tests.browser.page_checks import assert_fits
from tests.browser.straight_paths import Walk, upload_dataset
from tests.builders import a_user, a_workspace
from tests.conftest import IS_CI
from tests.free_ports import free_port
from tests.installation import Installation, an_installation
from tests.integration.ready_installation import is_environment_ready, wait_until
from tests.integration.worker.environments.from_requirements.package_folder import add_wheel
from tests.integration.worker.git.ssh_git_server import SshGitServer, serve_git_by_ssh
from worker.composition import open_cluster
from worker.embedded.settings_file import read_settings_file, write_settings_file
from worker.ssh_door.layout import missing_packages

VERY_LONG_MS = 180_000
PROGRAM = """import os
import sys
import time
from pathlib import Path

print(f"rank {{os.environ.get('RANK', 0)}} of {{os.environ.get('WORLD_SIZE', 1)}} from {place}", flush=True)
if "lower" in sys.argv:
    import lower

    print("lower", lower.VERSION, flush=True)
    (Path(os.environ["GROUNDCREW_OUT"]) / "model.bin").write_bytes(bytes(1000))
    time.sleep(3600)
"""


@dataclass
class Workshop:
    installation: Installation
    cluster: Cluster
    git: SshGitServer
    folder: Path
    administrator: User

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.installation.port}"


@pytest.fixture(scope="module")
def workshop() -> Iterator[Workshop]:
    """An installation without a package index, which may fetch from one git server on this machine."""
    if missing := missing_packages():
        (pytest.fail if IS_CI else pytest.skip)(f"the SSH door needs apt-get install {' '.join(missing)}")
    folder = Path(tempfile.mkdtemp(prefix="gc-workshop-"))
    folder.chmod(0o755)
    try:
        with an_installation() as installation, serve_git_by_ssh(folder) as git:
            installation.up()
            settings = {
                "GROUNDCREW_CPU_SLOTS": "3",
                "GROUNDCREW_PACKAGE_INDEX": "none",
                "GROUNDCREW_GIT_HOSTS": git.host,
                "GROUNDCREW_SSH_PORT": str(free_port()),
            }
            write_settings_file(installation.places.settings_file, settings)
            installation.up()
            read = read_settings_file(installation.places.settings_file)
            cluster = open_cluster(Settings.from_environment(read))
            wait_until(lambda: is_environment_ready(cluster), 900, "the training environment")
            wait_until(lambda: has_editor(cluster), 600, "JupyterLab")
            wait_until(lambda: read_door_state(cluster).is_open, 60, "the SSH door")
            administrator = a_user(cluster, "hjkim", UserRole.ADMINISTRATOR)
            yield Workshop(installation, cluster, git, folder, administrator)
            cluster.store.close()
    finally:
        shutil.rmtree(folder)


def has_editor(cluster: Cluster) -> bool:
    with cluster.store.read() as session:
        return load_editor(session) is not None


@dataclass
class Steps:
    """The walk of one researcher; `rows` are what each step took."""

    workshop: Workshop
    walk: Walk
    rows: list[str] = field(default_factory=list)

    @property
    def page(self) -> Page:
        return self.walk.page

    @contextmanager
    def step(self, title: str) -> Iterator[None]:
        clicks, fields, since = self.walk.clicks, self.walk.fields, time.monotonic()
        yield
        took = time.monotonic() - since
        self.rows.append(
            f"| {title} | {self.walk.clicks - clicks}+{self.walk.fields - fields} | {took:.1f} |"
        )
        self.picture(title)

    def picture(self, title: str, page: Page | None = None) -> None:
        if wanted := os.environ.get("GROUNDCREW_WALK"):
            Path(wanted).mkdir(parents=True, exist_ok=True)
            name = f"{len(self.rows):02}-{title.replace(' ', '-')}.{self.walk.language}.png"
            (page or self.page).screenshot(path=str(Path(wanted) / name))


@pytest.fixture
def people(browser: Browser, workshop: Workshop) -> Iterator[list[BrowserContext]]:
    contexts: list[BrowserContext] = []
    yield contexts
    for context in contexts:
        context.close()


def enter(browser: Browser, people: list[BrowserContext], shop: Workshop, who: User, language: str) -> Walk:
    context = browser.new_context(
        base_url=shop.url,
        locale=LOCALES[language],
        timezone_id="Asia/Seoul",
        storage_state=signed_in(shop.cluster, who, shop.url),
        reduced_motion="reduce",
        viewport={"width": 1440, "height": 900},
    )
    context.set_default_timeout(15_000)
    people.append(context)
    return Walk(context.new_page(), language)


@pytest.mark.long
@pytest.mark.parametrize(("language", "name"), [("en", "alex"), ("ko", "minji")])
def test_from_git_to_a_job_in_an_environment_of_ones_own(
    browser: Browser, people: list[BrowserContext], workshop: Workshop, language: str, name: str
) -> None:
    person, manager = a_user(workshop.cluster, name), a_user(workshop.cluster, f"{name}-lead")
    a_workspace(workshop.cluster, manager, (person,), units=3, name=f"{name}-lab")
    steps = Steps(workshop, enter(browser, people, workshop, person, language))
    chief = enter(browser, people, workshop, workshop.administrator, language)
    lead = enter(browser, people, workshop, manager, language)
    offer_packages(steps, chief)
    with steps.step("data set"):
        upload_dataset(steps.walk, "shapes", archive_of_shapes())
    training = clone_training(steps, f"{name}-net")
    lab = open_jupyterlab(steps, f"{name}-net")
    with steps.step("file edited in JupyterLab"):
        edit_file(lab, "train.py", PROGRAM.format(place="JupyterLab"))
        steps.walk.clicks += 3
    steps.picture("editor", lab)
    run_two_ranks(steps, training)
    install_package(steps, lab)
    with steps.step("notebook stopped"):
        steps.walk.begin("/notebooks")
        steps.walk.click(steps.page.locator("main table a").first)
        stop_shown(steps.walk)
    environment = make_environment(steps, lead, training, f"{name}-kept")
    run_in_environment(steps, training, environment)
    enter_job(steps, name)
    with steps.step("job stopped"):
        stop_shown(steps.walk)
    print(
        "\n".join(["", f"| step ({language}) | clicks + fields | seconds |", "|---|---:|---:|", *steps.rows])
    )
    print(f"in all: {steps.walk.count}; the manager: {lead.count}")


def offer_packages(steps: Steps, chief: Walk) -> None:
    """The administrator's part, once for the site."""
    wheel = steps.workshop.folder / "lower-2.0-py3-none-any.whl"
    if not wheel.exists():
        add_wheel(steps.workshop.folder, "lower", "2.0")
    chief.begin("/environments")
    chief.link("Wheels")
    chief.choose_files("wheels", wheel)
    chief.button("Upload")
    expect(chief.page.locator("main table")).to_contain_text("lower")
    steps.picture("wheels", chief.page)


def clone_training(steps: Steps, name: str) -> int:
    """The key is given to the server between two clicks, as a person does on its page."""
    walk, git = steps.walk, steps.workshop.git
    git.make_origin(name).commit({"train.py": PROGRAM.format(place="git").encode()}, "First")
    with steps.step("training by git clone"):
        walk.begin()
        walk.link("your own code", inside="#first-steps")
        walk.link("Notebook")
        walk.fill({"name": name})
        walk.button("Make training")
        expect(walk.page.get_by_role("heading", level=1)).to_have_text(name)
        found = re.search(r"/trainings/(\d+)", walk.page.url)
        assert found, walk.page.url
        walk.link("Get code from git")
        walk.fill({"url": git.url(name), "credential": "deploy_key"})
        walk.button("Save")
        git.add_deploy_key(walk.page.locator("#git-source pre").inner_text())
        walk.button("Pull")
        expect(walk.page.locator("#git-source")).to_contain_text("First", timeout=LONG_MS)
    return int(found[1])


def open_jupyterlab(steps: Steps, name: str) -> Page:
    """From the page of git, where the pull has ended. The portal goes on in a second tab."""
    walk = steps.walk
    with steps.step("JupyterLab opened"):
        walk.click(walk.page.locator(".crumbs").get_by_role("link", name=name, exact=True))
        walk.link("Notebook")
        since = time.monotonic()
        walk.click(walk.page.locator(".form-foot .btn-ink"))
        walk.page.wait_for_url(re.compile(r"/jobs/\d+/notebook|/nb/\d+/"))
        steps.rows.append(f"| progress page after the click | | {time.monotonic() - since:.2f} |")
        walk.page.wait_for_url(re.compile(r"/nb/\d+/lab"), timeout=LONG_MS)
        walk.page.locator(".jp-LauncherCard").first.wait_for(timeout=LONG_MS)
        steps.rows.append(f"| JupyterLab after the click | | {time.monotonic() - since:.2f} |")
    lab, walk.page = walk.page, walk.page.context.new_page()
    return lab


def run_two_ranks(steps: Steps, training: int) -> None:
    walk = steps.walk
    with steps.step("two-rank job from it"):
        walk.begin(f"/trainings/{training}/notebook")
        walk.button("Save and start a job")
        expect(walk.page.locator("#script")).to_have_value("train.py")
        walk.fill({"units": "2", "launcher": "torchrun"})
        walk.submit_jobs()
        expect(walk.page).to_have_url(re.compile(r"/jobs/\d+$"))
    with steps.step("its log"):
        walk.link("Log")
        walk.page.locator("select[name='rank']").select_option("1")
        walk.fields += 1
        lines = walk.page.locator("[data-lines]")
        expect(lines).to_contain_text("rank 1 of 2 from JupyterLab", timeout=LONG_MS)


def install_package(steps: Steps, lab: Page) -> None:
    walk = steps.walk
    with steps.step("cell run and package installed"):
        lab.get_by_role("tab", name="Launcher").click()
        since = time.monotonic()
        lab.locator(".jp-LauncherCard[data-category='Notebook']").first.click()
        expect(lab.locator("#jp-main-statusbar")).to_contain_text(IDLE_KERNEL, timeout=LONG_MS)
        steps.rows.append(f"| kernel idle after its click | | {time.monotonic() - since:.2f} |")
        run_cell(lab, "%pip install lower")
        expect(lab.locator(".jp-OutputArea-output").last).to_contain_text(
            "Successfully installed lower-2.0", timeout=LONG_MS
        )
        run_cell(lab, "import lower; print('seen', lower.VERSION)")
        expect(lab.locator(".jp-OutputArea-output").last).to_contain_text("seen 2.0", timeout=LONG_MS)
        walk.clicks += 4
        walk.fields += 2
    steps.picture("notebook", lab)


def make_environment(steps: Steps, lead: Walk, training: int, name: str) -> str:
    """The researcher asks, the manager approves, and the build ends. Returns its id."""
    walk = steps.walk
    with steps.step("environment asked for"):
        walk.begin(f"/trainings/{training}/notebook")
        expect(walk.page.get_by_text("lower", exact=True)).to_be_visible()
        walk.fill({"name": name})
        walk.button("Ask for an environment")
        expect(walk.page.get_by_role("heading", level=1)).to_have_text(name)
    with steps.step("environment approved and built"):
        lead.begin("/environments")
        lead.link(name)
        steps.picture("request", lead.page)
        lead.button("Approve")
        expect(walk.page.locator(".pill, .state").first).to_have_text(
            walk.word("Ready") if walk.language == "en" else "준비됨", timeout=VERY_LONG_MS
        )
    return walk.page.url.rpartition("/")[2]


def run_in_environment(steps: Steps, training: int, environment: str) -> None:
    walk = steps.walk
    with steps.step("next job in it"):
        walk.begin(f"/trainings/{training}")
        walk.link("New job")
        walk.fill({"arguments": "lower", "launcher": "plain", "units": "1", "environment": environment})
        walk.submit_jobs()
        expect(walk.page).to_have_url(re.compile(r"/jobs/\d+$"))
        walk.link("Log")
        expect(walk.page.locator("[data-lines]")).to_contain_text("lower 2.0", timeout=LONG_MS)


def enter_job(steps: Steps, name: str) -> None:
    """ssh and rsync are the machine's own; the server's key is compared with what the page says."""
    walk, folder = steps.walk, steps.workshop.folder / name
    folder.mkdir(mode=0o700)
    key, job = folder / "key", re.sub(r"\?.*", "", walk.page.url)
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    with steps.step("SSH key in the profile"):
        walk.begin()
        walk.navigate("/profile")
        walk.fill({"key_name": "laptop", "key": key.with_suffix(".pub").read_text()})
        walk.button("Add key")
    with steps.step("SSH in and rsync out"):
        walk.begin(job)
        command = walk.page.locator("#ssh-command").inner_text().split()
        assert command[:2] == ["ssh", "-p"], command
        options = ["-i", str(key), "-o", f"UserKnownHostsFile={folder}/known", "-o", "BatchMode=yes"]
        options += ["-o", "StrictHostKeyChecking=accept-new", "-o", "IdentitiesOnly=yes", "-F", "none"]
        ssh, login = [command[0], *options, *command[1:-1]], command[-1]
        shown = run([*ssh, login, "python3 -c 'import os; print(os.getuid() > 0)'; ls $HOME/model.bin"])
        assert shown.split()[0] == "True" and shown.strip().endswith("model.bin")
        run(["rsync", "-a", "-e", " ".join(ssh), f"{login}:~/model.bin", f"{folder}/"])
        assert (folder / "model.bin").read_bytes() == bytes(1000)
        fingerprint = run(["ssh-keygen", "-lf", f"{folder}/known"]).split()[1]
        expect(walk.page.locator("main")).to_contain_text(fingerprint)
        assert_fits(walk.page)


def stop_shown(walk: Walk) -> None:
    """Stops the job of the open page, by its page that asks."""
    walk.click(walk.page.locator("main a[href$='/stop']").first)
    found = re.search(r"/jobs/(\d+)/stop", walk.page.url)
    assert found, walk.page.url
    walk.button("Stop job-%(id)s", id=found[1])
    expect(walk.page).not_to_have_url(re.compile("/stop$"))


def run(command: list[str]) -> str:
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout
