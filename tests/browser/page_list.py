"""Every page of the portal by name, and how a test looks at one: opened, accessible, in both themes, as a picture."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from tests.browser.page_checks import OF_COLOURS, RULES, assert_accessible, assert_fits, assert_nothing_cut

PICTURES = Path(__file__).parents[2] / "docs" / "screenshots"
WRITE_INSTALLED_PATHS = """(checkout) => {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) texts.currentNode.data = texts.currentNode.data.replaceAll(checkout, "/srv/groundcrew");
}"""
"""Where the tests were checked out says nothing to readers of the documentation."""
TAKES_PICTURES = os.environ.get("GROUNDCREW_SCREENSHOTS") == "1"


@dataclass(frozen=True)
class Shown:
    """`path` has the names of what the journey has made; a main page is also shown in Korean and on a phone."""

    path: str
    is_main: bool = False
    who: str = "hjkim"
    status: int = 200
    is_long: bool = False
    """Whether what it shows is made where the long cases are played."""


LANGUAGES, THEMES, WIDTHS = ("en", "ko"), ("light", "dark"), (390, 1024, 1440)
DRESSES = (
    ("en", "light", 1440),
    ("ko", "dark", 390),
    ("en", "dark", 1024),
    ("ko", "light", 1024),
    ("en", "light", 390),
    ("ko", "dark", 1440),
)
"""Any two of language, theme and width are seen together in one of these."""
DESK = WIDTHS[-1]
HEIGHT = 900


PAGES = {
    "dashboard": Shown("/", True),
    "home": Shown("/", who="minji"),
    "queue": Shown("/queue?open={waiting}", True),
    "search": Shown("/search?q=d", True, "minji"),
    "help": Shown("/help?q=digits", True, "minji"),
    "help-page": Shown("/help/first-training", True, "minji"),
    "rest": Shown("/api"),
    "nodes": Shown("/nodes", True),
    "node": Shown("/nodes/1"),
    "node-drain": Shown("/nodes/1/drain"),
    "node-forget": Shown("/nodes/1/forget"),
    "workspaces": Shown("/workspaces", True),
    "workspace": Shown("/workspaces/{workspace}", True, "minji"),
    "workspace-new": Shown("/workspaces/new"),
    "workspace-edit": Shown("/workspaces/{workspace}/edit"),
    "workspace-extend": Shown("/workspaces/{workspace}/extend"),
    "workspace-end": Shown("/workspaces/{workspace}/end"),
    "workspace-storage": Shown("/workspaces/{workspace}/storage"),
    "datasets": Shown("/workspaces/{workspace}/datasets", who="minji"),
    "datasets-all": Shown("/datasets"),
    "dataset": Shown("/datasets/{dataset}", True, "minji"),
    "dataset-files": Shown("/datasets/{dataset}/files", who="minji"),
    "dataset-new": Shown("/workspaces/{workspace}/datasets/new", True, "minji"),
    "dataset-new-path": Shown("/workspaces/{workspace}/datasets/new?way=path"),
    "dataset-new-sample": Shown("/workspaces/{workspace}/datasets/new?way=sample", who="minji"),
    "dataset-delete": Shown("/datasets/{dataset}/delete", who="minji"),
    "trainings": Shown("/workspaces/{workspace}/trainings", who="minji"),
    "trainings-all": Shown("/trainings"),
    "training": Shown("/trainings/{own}", True, "minji"),
    "training-edit": Shown("/trainings/{own}/edit", who="minji"),
    "training-delete": Shown("/trainings/{own}/delete", who="minji"),
    "training-code": Shown("/trainings/{own}/code", True, "minji"),
    "training-code-compare": Shown("/trainings/{own}/code/compare", who="minji"),
    "training-code-edit": Shown("/trainings/{own}/code/edit?path=noisy_descent.py", who="minji"),
    "training-code-git": Shown("/trainings/{own}/code/git", who="minji"),
    "training-new": Shown("/workspaces/{workspace}/trainings/new", True, "minji"),
    "training-new-own": Shown("/workspaces/{workspace}/trainings/new?kind=advanced", who="minji"),
    "job-new": Shown("/trainings/{lenet}/jobs/new", True, "minji"),
    "job-new-own": Shown("/jobs/{running}/duplicate", who="minji"),
    "job-new-own-blank": Shown("/trainings/{own}/jobs/new", who="minji"),
    "jobs": Shown("/jobs", True),
    "jobs-best": Shown("/jobs?order=best&q=lenet", True, "minji"),
    "jobs-compare": Shown("/jobs/compare?job={finished},{running}", True, "minji"),
    "jobs-stop": Shown("/jobs/stop?job={finished},{running}", who="minji"),
    "jobs-rerun": Shown("/jobs/rerun?job={finished}", who="minji"),
    "jobs-tags": Shown("/jobs/tags?job={finished}", who="minji"),
    "jobs-files": Shown("/jobs/files/delete?job={finished}", who="minji"),
    "sweeps": Shown("/sweeps", True, "minji"),
    "job": Shown("/jobs/{running}", True, "minji"),
    "job-waiting": Shown("/jobs/{waiting}", who="minji"),
    "job-finished": Shown("/jobs/{finished}", who="minji"),
    "job-log": Shown("/jobs/{running}?tab=log", True, "minji"),
    "job-checkpoints": Shown("/jobs/{finished}?tab=checkpoints", who="minji"),
    "job-settings": Shown("/jobs/{finished}?tab=settings", who="minji"),
    "job-history": Shown("/jobs/{finished}?tab=history", who="minji"),
    "job-numbers": Shown("/jobs/{finished}/metrics?format=table", who="minji"),
    "job-continue": Shown("/jobs/{finished}/continue", who="minji"),
    "job-stop": Shown("/jobs/{running}/stop", who="minji"),
    "job-files": Shown("/jobs/{finished}/files/delete", who="minji"),
    "sweep": Shown("/sweeps/{sweep}", True, "minji"),
    "sweep-stop": Shown("/sweeps/{sweep}/stop", who="minji"),
    "accounting": Shown("/accounting"),
    "environments": Shown("/environments", True, "minji"),
    "environment": Shown("/environments/1", True),
    "environment-new": Shown("/environments/new", True),
    "wheels": Shown("/environments/wheels"),
    "environment-delete": Shown("/environments/1/delete", who="minji"),
    "operations": Shown("/operations", True),
    "operation": Shown("/operations/1", True),
    "repairs": Shown("/repairs", True),
    "repair": Shown("/repairs/free-disk-space", True),
    "repair-run": Shown("/repairs/runs/{repair}", True, is_long=True),
    "backups": Shown("/repairs/backups", True),
    "access-log": Shown("/access-log", True),
    "access-log-days": Shown("/access-log/days"),
    "users": Shown("/users", True),
    "user": Shown("/users/{user}"),
    "users-import": Shown("/users/import"),
    "user-new": Shown("/users/new"),
    "user-link-again": Shown("/users/{user}/link"),
    "user-disable": Shown("/users/{user}/disable"),
    "profile": Shown("/profile", True),
    "sign-in": Shown("/sign-in", True, "nobody"),
    "link": Shown("/link/{link}", who="nobody"),
    "link-dead": Shown("/link/used-up", who="nobody", status=404),
    "not-found": Shown("/jobs/999999", who="minji", status=404),
    "forbidden": Shown("/users", who="minji", status=403),
    "notebooks": Shown("/notebooks", who="minji"),
    "notebook-training": Shown("/trainings/{own}/notebook", who="minji"),
}

SHOWN_ONCE = {"first-administrator": "/first-administrator", "notebook": "/jobs/1/notebook"}
"""Looked at on the way, because afterwards they are gone."""

NO_PAGES = {
    "static",
    "rest_reference.docs",
    "health.health",
    "metrics.metrics",
    "access_log.day",
    "access_log.confirm_delete",
    "api-docs.openapi_json",
    "api_notifications.Choices",
    "api_ssh-door.Door",
    "api_ssh-keys.SshKeys",
    "api_queue.TheQueue",
    "api_nodes.Nodes",
    "api_nodes.OneNode",
    "api_nodes.Kubernetes",
    "api_repairs.Repairs",
    "api_repairs.OneRepair",
    "api_repairs.OneRun",
    "api_workspaces.Workspaces",
    "api_trainings.Trainings",
    "api_datasets.Datasets",
    "api_jobs.Jobs",
    "api_jobs.OneJob",
    "api_jobs.Why",
    "api_jobs.Log",
    "api_jobs.MergedLines",
    "api_jobs.LogSearch",
    "api_jobs.JobAccounting",
    "api_sweeps.Sweeps",
    "api_sweeps.OneSweep",
    "api_accounting.Accounting",
    "api_images.Images",
    "api_environments.Environments",
    "api_environments.OneEnvironment",
    "environments.images",
    "sweeps.metrics",
    "runs.compare_metrics",
    "job_log.raw",
    "job_log.download",
    "job_checkpoints.download",
    "job_files.download",
    "job_files.archive",
    "training_code.download",
    "training_code.archive",
    "api_trainings.OneTraining",
    "api_trainings.Dependents",
    "api_trainings.TrainingGitSource",
    "api_trainings.CodeVersions",
    "api_trainings.CodeTree",
    "api_trainings.CodeContent",
    "api_trainings.CodeComparison",
    "api_datasets.OneDataset",
    "api_nodes.Units",
    "api_datasets.DatasetFileList",
    "api_datasets.DatasetFileContent",
    "dataset_files.download",
    "dataset_files.archive",
    "api_jobs.FileList",
    "api_jobs.FileContent",
    "api_jobs.Metrics",
    "api_jobs.MetricRows",
    "api_notebooks.Notebooks",
    "api_notebooks.OneNotebook",
    "notebook_gate.check",
    "notebook_gate.enter",
    "command.program",
    "command.authority",
    "operations.log",
    "sign_in.sign_in_again",
}
"""Endpoints that answer GET with something that is read by programs or kept as a file."""

DRAWN = "new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(() => drawn(true))))"
"""Two frames: the first one lays the page out, in the second one its scripts have seen the new size."""

SETTLED = """() => !document.querySelector(".htmx-request")
  && [...document.querySelectorAll("[data-chart]")].every((chart) => chart.firstElementChild)
  && [...document.querySelectorAll("[data-log]")].every((log) => log.querySelector(".log-line"))
  && [...document.querySelectorAll("#estimate")].every((panel) => panel.querySelector(".estimate-say"))"""


def dealt_dresses() -> list[Any]:
    """(page, language, theme, width): each page in one dress, and neighbours, which are alike, in different ones."""
    return [
        pytest.param(name, *DRESSES[number % len(DRESSES)], marks=[pytest.mark.long] if shown.is_long else [])
        for number, (name, shown) in enumerate(PAGES.items())
    ]


def open_settled(page: Page, path: str, status: int = 200) -> None:
    """Opens the page and waits for what scripts still bring."""
    answer = page.goto(path)
    assert answer and answer.status == status, f"{path}: {answer and answer.status}"
    page.wait_for_function(SETTLED)
    page.evaluate("document.fonts.ready.then(() => true)")


def look_at(page: Page, name: str, path: str, language: str, status: int = 200) -> None:
    open_settled(page, path, status)
    expect(page.locator("html")).to_have_attribute("lang", language)
    show(page, name, language)


def look_in_all_widths(page: Page, name: str, path: str, language: str, status: int = 200) -> None:
    """The page is loaded once and its window made wider: what is drawn anew at a width is waited for."""
    page.set_viewport_size({"width": WIDTHS[0], "height": HEIGHT})
    open_settled(page, path, status)
    expect(page.locator("html")).to_have_attribute("lang", language)
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": HEIGHT})
        page.evaluate(DRAWN)
        page.wait_for_function(SETTLED)
        show(page, name, language)


def show(page: Page, name: str, language: str) -> None:
    """The open page in the light and in the dark; pictures of the desk's width only, where they are wanted.

    Of a main page docs/screenshots keeps both languages and both themes, of others the English one in the light.
    """
    is_desk = page.viewport_size is not None and page.viewport_size["width"] == DESK
    for theme, rules in (("light", RULES), ("dark", OF_COLOURS)):
        page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
        check_dress(page, theme, rules)
        is_main = name in PAGES and PAGES[name].is_main
        if TAKES_PICTURES and is_desk and (is_main or (language, theme) == ("en", "light")):
            take_picture(page, f"{name}.{language}.{theme}")


def check_dress(page: Page, theme: str, rules: Sequence[str]) -> None:
    expect(page.locator("html")).to_have_attribute("data-bs-theme", theme)
    assert_fits(page)
    assert_nothing_cut(page)
    assert_accessible(page, rules)


def take_picture(page: Page, name: str, height: int | None = None) -> None:
    """In all its colours, and of what repeats itself only the first `height`: docs/ is cloned by everybody."""
    page.evaluate("scrollTo(0, 0)")
    page.evaluate(WRITE_INSTALLED_PATHS, str(PICTURES.parents[1]))
    picture = Image.open(io.BytesIO(page.screenshot(full_page=True))).convert("RGB")
    picture = picture.crop((0, 0, picture.width, min(picture.height, height or picture.height)))
    PICTURES.mkdir(parents=True, exist_ok=True)
    picture.save(PICTURES / f"{name}.png", optimize=True)
