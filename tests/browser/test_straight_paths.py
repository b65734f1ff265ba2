"""The straight paths in Korean, through an installation of their own: as many clicks as in English."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import StorageState, expect

from tests.browser import straight_paths
from tests.browser.conftest import PageIn
from tests.browser.journey import OWN_CODE, PASSWORD, Journey, archive_of_shapes, begin_journey, fill
from tests.browser.straight_paths import Walk

LONG_MS = 60_000


@pytest.fixture(scope="module")
def journey() -> Iterator[Journey]:
    with begin_journey() as journey:
        yield journey


@pytest.fixture
def base_url(journey: Journey) -> str:
    return journey.url


@pytest.mark.long
def test_the_paths_are_as_short_in_korean(page_in: PageIn, journey: Journey) -> None:
    walks: dict[str, Walk] = {}

    def walk(name: str, state: StorageState | None, javascript: bool = True) -> Walk:
        for earlier in walks.values():
            earlier.page.close()
        walks[name] = Walk(page_in("ko", state=state, javascript=javascript), "ko")
        return walks[name]

    first = walk("administrator", None)
    straight_paths.become_administrator(first, journey.secret, "hjkim", PASSWORD)
    chief = first.page.context.storage_state()
    straight_paths.make_workspace(walk("workspace", chief), "vision-lab", 2, "hjkim")
    journey.keep("workspace", walks["workspace"].page)
    straight_paths.prepare_backup(walk("backup", chief))
    link = straight_paths.invite(walk("invitation", chief), "minji", "이민지", "vision-lab")
    hers = enter_by_link(page_in, link)
    workspace = int(journey.path("{workspace}"))
    straight_paths.upload_dataset(walk("upload", hers), "shapes", archive_of_shapes())
    straight_paths.make_built_in_training(walk("built-in", hers), "shapes-lenet")
    journey.keep("lenet", walks["built-in"].page)
    page = walk("own code", hers).page
    straight_paths.run_own_code(walks["own code"], "noisy-descent", OWN_CODE, straight_paths.LONG_JOB)
    journey.keep("running", page)
    expect(page.locator(".pill")).to_have_text("실행 중", timeout=LONG_MS)
    page.get_by_role("link", name="noisy-descent").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("noisy-descent")
    journey.keep("own", page)
    own = int(journey.path("{own}"))
    straight_paths.start_job_of(walk("job", hers), int(journey.path("{lenet}")), straight_paths.BUILT_IN_JOB)
    straight_paths.start_sweep(walk("sweep", hers), workspace, "noisy-descent", 2, straight_paths.SWEEP)
    script = {"name": OWN_CODE.name, "mimeType": "text/x-python", "buffer": OWN_CODE.read_bytes() + b"\n"}
    straight_paths.run_new_version(walk("version", hers), own, script, straight_paths.SHORT_JOB)
    straight_paths.make_token(walk("token", hers), "laptop")
    straight_paths.sign_in_without_scripts(walk("no scripts", None, javascript=False), "minji", PASSWORD)
    straight_paths.start_job(walks["no scripts"], straight_paths.WAITING_JOB)
    straight_paths.make_sample_digits(walk("sample", hers, javascript=False), workspace)
    straight_paths.stop_job(walk("stop", hers), int(journey.path("{running}")))
    straight_paths.check_walks(walks, straight_paths.TABLE.read_text())


def enter_by_link(page_in: PageIn, link: str) -> StorageState:
    page = page_in("ko")
    page.goto(link)
    fill(page, {"password": PASSWORD})
    page.locator("main button[type=submit]").first.click()
    expect(page).not_to_have_url(re.compile("/link/"))
    state = page.context.storage_state()
    page.close()
    return state
