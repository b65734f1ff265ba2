"""What a researcher does in the workshop, as counted steps that are the same wherever jobs run.

`Steps` counts clicks and seconds of each; with GROUNDCREW_WALK=FOLDER it leaves a picture of each step there.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Page, StorageState, expect

from tests.browser.conftest import LOCALES
from tests.browser.journey import archive_of_shapes
from tests.browser.notebooks.jupyterlab import IDLE_KERNEL, LONG_MS, edit_file, run_cell
from tests.browser.straight_paths import Walk, upload_dataset
from tests.integration.worker.environments.from_requirements.package_folder import add_wheel
from tests.integration.worker.git.ssh_git_server import SshGitServer

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


Enter = Callable[[StorageState, str], Walk]
"""A browser of one person, who has signed in, and a language."""


@contextmanager
def entered(browser: Browser, url: str) -> Iterator[Enter]:
    contexts: list[BrowserContext] = []

    def enter(state: StorageState, language: str) -> Walk:
        context = browser.new_context(
            base_url=url,
            locale=LOCALES[language],
            timezone_id="Asia/Seoul",
            storage_state=state,
            reduced_motion="reduce",
            viewport={"width": 1440, "height": 900},
            # Servers have an authority of their own, which this browser does not know.
            ignore_https_errors=True,
        )
        context.set_default_timeout(15_000)
        contexts.append(context)
        return Walk(context.new_page(), language)

    try:
        yield enter
    finally:
        for context in contexts:
            context.close()


@dataclass
class Steps:
    """The walk of one researcher; `rows` are what each step took.

    `folder`: for files of the walk, on this machine; `git` serves it.
    """

    git: SshGitServer
    folder: Path
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

    def table(self) -> str:
        head = f"| step ({self.walk.language}) | clicks + fields | seconds |"
        return "\n".join(["", head, "|---|---:|---:|", *self.rows, f"in all: {self.walk.count}"])

    def picture(self, title: str, page: Page | None = None) -> None:
        if wanted := os.environ.get("GROUNDCREW_WALK"):
            Path(wanted).mkdir(parents=True, exist_ok=True)
            name = f"{len(self.rows):02}-{title.replace(' ', '-')}.{self.walk.language}.png"
            (page or self.page).screenshot(path=str(Path(wanted) / name))


def walk_to_a_kept_package(steps: Steps, chief: Walk, name: str) -> tuple[int, Page]:
    """From a dataset to a package that is there again in the next notebook. Returns training and notebook."""
    walk = steps.walk
    offer_packages(steps, chief)
    with steps.step("data set"):
        upload_dataset(walk, "shapes", archive_of_shapes())
    training = clone_training(steps, name)
    lab = open_jupyterlab(steps, name)
    with steps.step("file edited in JupyterLab"):
        edit_file(lab, "train.py", PROGRAM.format(place="JupyterLab"))
        walk.clicks += 3
    steps.picture("editor", lab)
    run_two_ranks(steps, training)
    install_package(steps, lab)
    stop_notebook(steps)
    return training, find_package_again(steps, training)


def offer_packages(steps: Steps, chief: Walk) -> None:
    """The administrator's part, once for the site."""
    wheel = steps.folder / "lower-2.0-py3-none-any.whl"
    if not wheel.exists():
        add_wheel(steps.folder, "lower", "2.0")
    chief.begin("/environments")
    chief.link("Wheels")
    chief.choose_files("wheels", wheel)
    chief.button("Upload")
    expect(chief.page.locator("main table")).to_contain_text("lower")
    steps.picture("wheels", chief.page)


def clone_training(steps: Steps, name: str) -> int:
    """The key is given to the server between two clicks, as a person does on its page."""
    walk, git = steps.walk, steps.git
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
        see(lab, "%pip install lower", "Successfully installed lower-2.0")
        see(lab, "import lower; print('seen', lower.VERSION)", "seen 2.0")
        walk.clicks += 4
        walk.fields += 2
    steps.picture("notebook", lab)


def stop_notebook(steps: Steps) -> None:
    with steps.step("notebook stopped"):
        steps.walk.begin("/notebooks")
        steps.walk.click(steps.page.locator("main table a").first)
        stop_shown(steps.walk)


def find_package_again(steps: Steps, training: int) -> Page:
    """In another notebook of the same training. The portal goes on in another tab."""
    walk = steps.walk
    with steps.step("the package in the next notebook"):
        walk.begin(f"/trainings/{training}/notebook")
        wait_for_button(walk.page)
        walk.click(walk.page.locator(".form-foot button.btn-ink"))
        walk.page.wait_for_url(re.compile(r"/nb/\d+/lab"), timeout=LONG_MS)
        lab, walk.page = walk.page, walk.page.context.new_page()
        # JupyterLab opens what the notebook before left open, unless it is asked not to.
        lab.goto(re.sub(r"/lab.*", "/lab?reset", lab.url))
        lab.locator(".jp-LauncherCard[data-category='Notebook']").first.click(timeout=LONG_MS)
        see(lab, "import lower; print('again', lower.VERSION)", "again 2.0")
        walk.clicks += 2
        walk.fields += 1
    steps.picture("notebook-again", lab)
    return lab


def wait_for_button(page: Page) -> None:
    """Until the notebook before is over: so long there is a link to it in place of the button."""
    until = time.monotonic() + LONG_MS / 1000
    while not page.locator(".form-foot button.btn-ink").count():
        assert time.monotonic() < until, "the notebook before does not end"
        page.wait_for_timeout(300)
        page.reload()


def see(lab: Page, code: str, expected: str) -> None:
    """Runs a cell, and waits until it has written this."""
    run_cell(lab, code)
    expect(lab.locator(".jp-OutputArea-output").last).to_contain_text(expected, timeout=LONG_MS)


def stop_shown(walk: Walk) -> None:
    """Stops the job of the open page, by its page that asks."""
    walk.click(walk.page.locator("main a[href$='/stop']").first)
    found = re.search(r"/jobs/(\d+)/stop", walk.page.url)
    assert found, walk.page.url
    walk.button("Stop job-%(id)s", id=found[1])
    expect(walk.page).not_to_have_url(re.compile("/stop$"))
