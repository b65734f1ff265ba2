"""The researcher's workshop on three hosts, in both languages: from git to a job that has a package of one's own.

The steps are those of the walk on one machine, as far as pods can take them; what they cannot, the pages say.
"""

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, StorageState, expect

from cluster import words
from tests.browser.notebooks.jupyterlab import LONG_MS
from tests.browser.notebooks.workshop_steps import (
    Enter,
    Steps,
    entered,
    see,
    stop_notebook,
    stop_shown,
    walk_to_a_kept_package,
)
from tests.hosts.appliance.conftest import note
from tests.hosts.appliance.repair_scenarios import in_python
from tests.hosts.kube.conftest import Cluster
from tests.hosts.kube.scenarios import portal_user as pilots
from tests.hosts.kube.scenarios.gangs import UNITS, offered
from tests.hosts.kube.scenarios.portal_user import AS_OPS, END_WORKSPACE, MAKE_CODE, Pilot
from tests.integration.worker.git.ssh_git_server import SshGitServer, serve_git_by_ssh

pytestmark = pytest.mark.long
SIGN_IN = """
import json
from cluster.domain.states import UserRole, UserState
from cluster.portal_paths import session_cookie_name
from cluster.services.people.sessions import begin_session
from cluster.store.workspaces import Workspace
with cluster.store.write() as session:
    person = session.scalar(select(User).where(User.name == {name!r}))
    if person is None:
        person = User(name={name!r}, role=UserRole.USER, state=UserState.ACTIVE, created_at=cluster.clock())
        lab = session.get_one(Workspace, {workspace})
        lab.members.append(person)
        session.flush()
    number = person.id
token = begin_session(cluster, number, "127.0.0.1", "a test")
print(json.dumps([session_cookie_name(cluster.settings.port), token]))
"""
AMONG_FILES = "!PIP_PREFIX= python -m pip install --target . lower"


@pytest.fixture(scope="module")
def pilot(installed: Cluster) -> Pilot:
    """Every worker node has the image."""
    pilot = pilots.enter(installed)
    pilot.until(lambda: offered(pilot) == UNITS, 300, "the agents' units")
    workspace = pilot.workspace(f"images-{time.time():.0f}", UNITS)
    training = pilot.do(MAKE_CODE, workspace=workspace, name="there", code="print('there')")
    pilot.wait(
        pilot.submit(training, UNITS, command=["main.py"], launcher="torchrun"), "finished", seconds=900
    )
    pilot.do(END_WORKSPACE, workspace=workspace)
    return pilot


@pytest.fixture(scope="module")
def git(pilot: Pilot, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshGitServer]:
    """Beside the hosts, on the address that this machine has in their network: as a lab's own server it is no node."""
    with serve_git_by_ssh(tmp_path_factory.mktemp("git"), f"{pilot.cluster.bed.subnet}.1") as git:
        yield git


@pytest.fixture
def enter(browser: Browser, pilot: Pilot) -> Iterator[Enter]:
    with entered(browser, pilot.url) as enter:
        yield enter


@pytest.fixture
def workspace(pilot: Pilot) -> Iterator[int]:
    """Of three units: one for the notebook, two for a job beside it."""
    made = pilot.workspace(f"lab-{time.time():.0f}", 3)
    yield made
    pilot.do(END_WORKSPACE, workspace=made)


def signed_in(pilot: Pilot, name: str, workspace: int) -> StorageState:
    """The cookies of somebody who has signed in; who is not there yet becomes a member of the workspace."""
    program = AS_OPS + SIGN_IN.format(name=name, workspace=workspace)
    cookie, token = json.loads(in_python(pilot.cluster.master, program))
    made = {
        "name": cookie, "value": token, "domain": pilot.cluster.master.address, "path": "/", "expires": -1,
        "httpOnly": True, "secure": True, "sameSite": "Lax",
    }  # fmt: skip
    return {"cookies": [made], "origins": []}  # type: ignore[typeddict-item]


@pytest.mark.parametrize(("language", "name"), [("en", "alex"), ("ko", "minji")])
def test_from_git_to_a_job_with_a_package_of_ones_own(
    enter: Enter, pilot: Pilot, git: SshGitServer, workspace: int, language: str, name: str
) -> None:
    person = f"{name}-{workspace}"
    walk, chief = (enter(signed_in(pilot, who, workspace), language) for who in (person, "ops"))
    steps = Steps(git, git.folder, walk)
    training, lab = walk_to_a_kept_package(steps, chief, f"{person}-net")
    put_among_files(steps, lab, training)
    stop_notebook(steps)
    run_with_package(steps, training)
    take_file_out(steps)
    with steps.step("job stopped"):
        stop_shown(walk)
    note(steps.table())
    pilot.until(
        lambda: not pilot.call("GET", "jobs?state=running,stopping")["items"], 120, "that nothing runs"
    )
    pilot.check()


def put_among_files(steps: Steps, lab: Page, training: int) -> None:
    """As the page says: here no environment is made of packages."""
    walk = steps.walk
    with steps.step("package among the files"):
        walk.begin(f"/trainings/{training}/notebook")
        expect(walk.page.locator("#among-files")).to_have_text(AMONG_FILES)
        expect(walk.page.locator("form[action$='/notebook/environment']")).to_have_count(0)
        see(lab, AMONG_FILES, "Successfully installed lower-2.0")
        walk.clicks += 1
        walk.fields += 1


def run_with_package(steps: Steps, training: int) -> None:
    walk = steps.walk
    with steps.step("next job imports it"):
        walk.begin(f"/trainings/{training}/notebook")
        walk.button("Save and start a job")
        walk.fill({"script": "train.py", "arguments": "lower", "launcher": "plain", "units": "1"})
        walk.submit_jobs()
        expect(walk.page).to_have_url(re.compile(r"/jobs/\d+$"))
        walk.link("Log")
        expect(walk.page.locator("[data-lines]")).to_contain_text("lower 2.0", timeout=LONG_MS)


def take_file_out(steps: Steps) -> None:
    """No SSH leads into a pod; the page says so, and that files are downloaded there."""
    walk = steps.walk
    with steps.step("file downloaded"):
        walk.begin(re.sub(r"\?.*", "", walk.page.url))
        closed = words.sentence("ssh_door.executor", {"executor": "kubernetes"}, walk.language)
        expect(walk.page.locator("main")).to_contain_text(closed)
        walk.link("Files")
        with walk.page.expect_download() as downloaded:
            walk.link("Download %(file)s", file="model.bin")
        assert Path(downloaded.value.path()).read_bytes() == bytes(1000)
