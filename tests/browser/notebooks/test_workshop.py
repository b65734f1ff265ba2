"""The researcher's workshop as one walk: git, JupyterLab, jobs, packages, an environment, and SSH into a running job.

Prints the clicks and the seconds of each step; with GROUNDCREW_WALK=FOLDER it leaves a picture of each step there.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from cluster.domain.states import UserRole
from cluster.services.context import Cluster
from cluster.services.ssh.door_state import read_door_state
from cluster.settings import Settings
from cluster.store.users import User
from tests.browser.conftest import signed_in
from tests.browser.notebooks.jupyterlab import LONG_MS
from tests.browser.notebooks.workshop_steps import (
    Enter,
    Steps,
    entered,
    stop_notebook,
    stop_shown,
    walk_to_a_kept_package,
)
from tests.browser.page_checks import assert_fits
from tests.browser.straight_paths import Walk
from tests.builders import a_user, a_workspace
from tests.conftest import IS_CI
from tests.free_ports import free_port
from tests.installation import Installation, an_installation
from tests.integration.ready_installation import has_editor, is_environment_ready, wait_until
from tests.integration.worker.git.ssh_git_server import SshGitServer, serve_git_by_ssh
from worker.composition import open_cluster
from worker.embedded.settings_file import read_settings_file, write_settings_file
from worker.ssh_door.layout import missing_packages

VERY_LONG_MS = 180_000


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


@pytest.fixture
def enter(browser: Browser, workshop: Workshop) -> Iterator[Enter]:
    with entered(browser, workshop.url) as enter:
        yield enter


@pytest.mark.long
@pytest.mark.parametrize(("language", "name"), [("en", "alex"), ("ko", "minji")])
def test_from_git_to_a_job_in_an_environment_of_ones_own(
    enter: Enter, workshop: Workshop, language: str, name: str
) -> None:
    person, manager = a_user(workshop.cluster, name), a_user(workshop.cluster, f"{name}-lead")
    a_workspace(workshop.cluster, manager, (person,), units=3, name=f"{name}-lab")
    walk, chief, lead = (
        enter(signed_in(workshop.cluster, who, workshop.url), language)
        for who in (person, workshop.administrator, manager)
    )
    steps = Steps(workshop.git, workshop.folder, walk)
    training, _ = walk_to_a_kept_package(steps, chief, f"{name}-net")
    stop_notebook(steps)
    environment = make_environment(steps, lead, training, f"{name}-kept")
    run_in_environment(steps, training, environment)
    enter_job(steps, name)
    with steps.step("job stopped"):
        stop_shown(walk)
    print(f"{steps.table()}; the manager: {lead.count}")


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
    walk, folder = steps.walk, steps.folder / name
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


def run(command: list[str]) -> str:
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout
