"""The straight paths of the first hour: each begins where a person stands and goes on by counted clicks alone.

`PATHS` has the most clicks that each may take; docs/measurements/first-hour.md has the table of what they take.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page, expect

from portal.i18n.translate import portal_translations
from tests.browser.journey import fill

TABLE = Path(__file__).parents[2] / "docs" / "measurements" / "first-hour.md"


@dataclass(frozen=True)
class StraightPath:
    """`first_trial` is what the path took when the portal was first tried: clicks + fields."""

    title: str
    begins: str
    first_trial: str
    most_clicks: int


PATHS = {
    "administrator": StraightPath("Become the first administrator", "the address", "1+3", 1),
    "workspace": StraightPath("Make a workspace", "Dashboard", "3+2", 3),
    "invitation": StraightPath("Invite a person into a workspace, the link copied", "Dashboard", "7+3", 4),
    "upload": StraightPath("Upload a zip as a dataset", "Home", "5+1", 5),
    "sample": StraightPath("Make the sample digits, without JavaScript", "Home", "4", 4),
    "built-in": StraightPath("Make a training of a built-in model", "Home", "3+1", 3),
    "job": StraightPath("Start its first job", "the training", "2", 2),
    "own code": StraightPath("Own code to a running job", "Home", "6+3", 4),
    "version": StraightPath("A new version of the code and its job", "the training", "4", 4),
    "sweep": StraightPath("Start a sweep", "Home", "3+4", 3),
    "no scripts": StraightPath("Sign in and start a job without JavaScript", "the address", "3+4", 3),
    "stop": StraightPath("Stop a job", "Home", "3", 3),
    "token": StraightPath("A token for the command", "Home", "2+1", 2),
    "repair": StraightPath("Run a repair", "Dashboard", "3+1", 3),
    "backup": StraightPath("A backup that is proven by a restore", "Dashboard", "4+1", 4),
}


LONG_JOB = {"name": "descent-long", "arguments": "6000", "launcher": "plain", "units": "1"}
SHORT_JOB = {"arguments": "4", "launcher": "plain", "units": "1"}
WAITING_JOB = {"arguments": "6000", "units": "2"}
BUILT_IN_JOB = {"name": "shapes-1", "units": "1", "variables.epochs": "4"}
SWEEP = {
    "name": "descent",
    "values": "steps = 4, 8",
    "arguments": "{steps}",
    "launcher": "plain",
    "units": "1",
}
"""What is filled in, in both languages the same."""
MOST_KEYS = 49


@dataclass
class Walk:
    """One person on one path. `clicks` are links, buttons, boxes and choices of files; `fields` are typed or selected.

    Words are those of the pages' English; in Korean their translations are looked for.
    """

    page: Page
    language: str = "en"
    clicks: int = field(default=0, init=False)
    fields: int = field(default=0, init=False)

    @property
    def count(self) -> str:
        return f"{self.clicks}+{self.fields}" if self.fields else str(self.clicks)

    def begin(self, path: str = "/") -> None:
        self.page.goto(path)
        expect(self.page.locator("html")).to_have_attribute("lang", self.language)

    def word(self, message: str, /, **values: Any) -> str:
        text = portal_translations(self.language).gettext(message)
        return text % values if values else text

    def click(self, target: Locator) -> None:
        target.click()
        self.clicks += 1

    def link(self, message: str, /, inside: str = "main", **values: Any) -> None:
        name = self.word(message, **values)
        self.click(self.page.locator(inside).get_by_role("link", name=name, exact=True).first)

    def button(self, message: str, /, **values: Any) -> None:
        name = self.word(message, **values)
        self.click(self.page.locator("main").get_by_role("button", name=name, exact=True).first)

    def navigate(self, path: str) -> None:
        """By the navigation, whose words have counts beside them."""
        self.click(self.page.locator(f'.rail a[href="{path}"]'))

    def fill(self, values: dict[str, str]) -> None:
        fill(self.page, values)
        self.fields += len(values)

    def choose_files(self, field_name: str, files: Any) -> None:
        self.page.locator(f"#{field_name}").set_input_files(files)
        self.clicks += 1

    def submit_jobs(self, count: int = 1) -> None:
        """By the button of the form, once it can be pressed."""
        text = portal_translations(self.language).ngettext("Make %(num)d job", "Make %(num)d jobs", count)
        self.click(self.page.get_by_role("button", name=text % {"num": count}, exact=True))


def become_administrator(walk: Walk, secret: str, name: str, password: str) -> None:
    walk.begin()
    walk.fill({"secret": secret, "name": name, "password": password})
    walk.button("Make this account")
    expect(walk.page.locator(".rail").get_by_role("link", name=name)).to_be_visible()


def make_workspace(walk: Walk, name: str, units: int, manager: str | None = None) -> None:
    """Who makes it manages it, unless somebody else is named."""
    walk.begin()
    walk.link("New workspace", inside="#first-steps")
    walk.fill({"name": name, "units": str(units)} | ({"manager": manager} if manager else {}))
    walk.button("Make workspace")
    expect(walk.page.get_by_role("heading", level=1)).to_contain_text(name)


def invite(walk: Walk, name: str, full_name: str, workspace: str) -> str:
    """The one-time link; its copy is in the clipboard."""
    walk.page.context.grant_permissions(["clipboard-write"])
    walk.begin()
    walk.link("Add a person", inside="#first-steps")
    walk.fill({"name": name, "full_name": full_name})
    walk.click(walk.page.get_by_label(workspace, exact=True))
    walk.button("Make user and link")
    walk.button("Copy")
    expect(walk.page.get_by_role("button", name=walk.word("Copied"))).to_be_visible()
    return walk.page.locator("#secret-text").inner_text().strip()


def upload_dataset(walk: Walk, name: str, archive: bytes) -> None:
    """The name of the file is proposed as that of the dataset."""
    walk.begin()
    walk.link("Add a dataset", inside="#first-steps")
    file = {"name": f"{name}.zip", "mimeType": "application/zip", "buffer": archive}
    walk.choose_files("archive", file)
    expect(walk.page.locator("#name")).to_have_value(name)
    walk.button("Upload")
    expect(walk.page.get_by_role("heading", level=1)).to_have_text(name)


def make_sample_digits(walk: Walk, workspace_id: int) -> None:
    walk.begin()
    walk.navigate(f"/workspaces/{workspace_id}/datasets")
    walk.link("New dataset")
    walk.link("Sample digits")
    walk.button("Make sample digits")
    expect(walk.page.get_by_role("heading", level=1)).to_contain_text("digits")


def make_built_in_training(walk: Walk, name: str) -> None:
    walk.begin()
    walk.link("New training", inside="#first-steps")
    walk.fill({"name": name})
    walk.button("Make training")
    expect(walk.page.get_by_role("heading", level=1)).to_have_text(name)


def start_job_of(walk: Walk, training: int, values: dict[str, str]) -> None:
    walk.begin(f"/trainings/{training}")
    walk.link("New job")
    start_job(walk, values)


def start_job(walk: Walk, values: dict[str, str]) -> None:
    """From the form to the page of the job."""
    walk.fill(values)
    walk.submit_jobs()
    expect(walk.page).to_have_url(re.compile(r"/jobs/\d+$"))


def run_own_code(walk: Walk, name: str, script: Path, values: dict[str, str]) -> None:
    """The only script of the code is chosen already. Ends on the page of the job."""
    walk.begin()
    walk.link("your own code", inside="#first-steps")
    walk.choose_files("code", script)
    walk.fill({"name": name})
    walk.button("Make it and fill in a job")
    expect(walk.page.locator("#script")).to_have_value(script.name)
    start_job(walk, values)


def run_new_version(walk: Walk, training: int, script: Mapping[str, object], values: dict[str, str]) -> None:
    walk.begin(f"/trainings/{training}")
    walk.choose_files("code", script)
    walk.button("Upload a new version")
    walk.link("New job")
    start_job(walk, values)


def start_sweep(walk: Walk, workspace_id: int, training: str, jobs: int, values: dict[str, str]) -> None:
    walk.begin()
    walk.navigate(f"/workspaces/{workspace_id}/trainings")
    walk.link("New job of %(name)s", name=training)
    walk.fill(values)
    walk.submit_jobs(jobs)
    expect(walk.page).to_have_url(re.compile(r"/sweeps/\d+$"))


def sign_in_without_scripts(walk: Walk, name: str, password: str) -> None:
    """Ends on the form of a new job of the training that this person has used last."""
    walk.page.goto("/sign-in")
    walk.fill({"name": name, "password": password})
    walk.button("Sign in")
    walk.link("New job")


def stop_job(walk: Walk, job: int) -> None:
    walk.begin()
    walk.click(walk.page.locator(f'main a[href="/jobs/{job}"]').first)
    walk.click(walk.page.locator(f'main a[href="/jobs/{job}/stop"]').first)
    walk.button("Stop job-%(id)s", id=job)
    expect(walk.page).not_to_have_url(re.compile("/stop$"))


def start_job_by_keyboard(page: Page, name: str, password: str) -> int:
    """How many keys sign in and start a job; letters of name and password are not counted."""
    page.goto("/sign-in")
    page.keyboard.type(name)
    page.keyboard.press("Tab")
    page.keyboard.type(password)
    page.keyboard.press("Enter")
    keys = ["Tab", "Enter"]
    for path, target in (("/", "New job"), ("/jobs/new", "Make 1 job")):
        page.wait_for_url(re.compile(f"{path}$"))
        expect(page.get_by_text(target, exact=True).first).to_be_enabled()
        keys += press_to(page, target)
    expect(page).to_have_url(re.compile(r"/jobs/\d+$"))
    return len(keys)


def press_to(page: Page, word: str) -> list[str]:
    """The keys from the beginning of a page, over its skip link, to the link or button with this word."""
    keys = ["Tab", "Enter"]
    for key in keys:
        page.keyboard.press(key)
    while page.evaluate("document.activeElement.textContent.trim()") != word:
        assert len(keys) <= MOST_KEYS, f"{word} is not reached"
        page.keyboard.press("Tab")
        keys.append("Tab")
    page.keyboard.press("Enter")
    return [*keys, "Enter"]


def make_token(walk: Walk, name: str) -> str:
    """The token, which is shown once."""
    walk.begin()
    walk.navigate("/profile")
    walk.fill({"token_name": name})
    walk.button("Make token")
    return walk.page.locator("#secret-text").inner_text().strip()


def run_repair(walk: Walk, repair: str, reason: str) -> None:
    """From the list of repairs to the page of the run."""
    walk.begin()
    walk.navigate("/repairs")
    walk.click(walk.page.locator(f'main a.btn[href="/repairs/{repair}"]'))
    walk.fill({"reason": reason})
    walk.button("Run it")
    expect(walk.page).to_have_url(re.compile(r"/repairs/runs/\d+$"))


def prepare_backup(walk: Walk) -> None:
    """This repair restores what it has written, and compares. Its last button is counted and not pressed: backups of a
    test's installation would lie among those of the clone."""
    walk.begin()
    walk.navigate("/repairs/backups")
    walk.link("Back up now")
    walk.fill({"reason": "before the upgrade"})
    expect(walk.page.get_by_role("button", name=walk.word("Run it"))).to_be_enabled()
    walk.clicks += 1


def table_row(name: str, walk: Walk) -> str:
    path = PATHS[name]
    return f"| {path.title} | {path.begins} | {path.first_trial} | {path.most_clicks} | {walk.count} |"


def check_walks(walks: dict[str, Walk], table: str) -> None:
    """None is longer than it may be, and the table says of each what it takes."""
    rows = {name: table_row(name, walk) for name, walk in walks.items()}
    print(
        "\n".join(
            ["", "| path | begins at | first trial | most | now |", "|---|---|---|---:|---|", *rows.values()]
        )
    )
    too_long = [row for name, row in rows.items() if walks[name].clicks > PATHS[name].most_clicks]
    assert too_long == []
    assert [row for row in rows.values() if row not in table] == [], f"{TABLE.name} has other rows"
