"""The whole way through one real installation in a real browser, then every page in every dress.

The tests are steps of one journey: each goes on from what the ones before it have made.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product

import pytest
from playwright.sync_api import Page, expect

from cluster.services.context import Cluster
from portal import create_app
from tests.browser import straight_paths
from tests.browser.conftest import PageIn
from tests.browser.journey import (
    OWN_CODE,
    PASSWORD,
    SHAPES,
    Journey,
    archive_of_shapes,
    begin_journey,
    fill,
    make_job,
    make_user,
    sign_in,
    type_secret,
)
from tests.browser.page_checks import RULES
from tests.browser.page_list import (
    DRESSES,
    LANGUAGES,
    NO_PAGES,
    PAGES,
    SHOWN_ONCE,
    THEMES,
    WIDTHS,
    check_dress,
    dealt_dresses,
    look_at,
    look_in_all_widths,
    open_settled,
    show,
)
from tests.browser.repair_pages import RepairPages
from tests.browser.straight_paths import Walk

LONG_MS = 60_000
"""For what real processes do: a Python that imports TensorFlow on a busy machine."""
PREPARES_WITHIN = 600
"""Seconds."""


@pytest.fixture(scope="module")
def journey() -> Iterator[Journey]:
    with begin_journey() as journey:
        yield journey


@pytest.fixture(scope="module")
def walks() -> dict[str, Walk]:
    """The straight paths that the steps so far have walked."""
    return {}


@pytest.fixture
def base_url(journey: Journey) -> str:
    return journey.url


@pytest.mark.parametrize("language", ["ko", "en"])
def test_the_first_page_of_an_installation(page_in: PageIn, language: str) -> None:
    page = page_in(language)
    look_at(page, "first-administrator", "/first-administrator", language)


def test_the_secret_of_the_terminal_makes_the_first_administrator(
    page_in: PageIn, journey: Journey, walks: dict[str, Walk]
) -> None:
    page = page_in()
    type_secret(page, "0000-0000-0000-0000", "hjkim")
    expect(page.get_by_role("alert").or_(page.locator(".problem")).first).to_be_visible()
    walks["administrator"] = Walk(page)
    straight_paths.become_administrator(walks["administrator"], journey.secret, "hjkim", PASSWORD)
    page.get_by_role("button", name="Sign out").click()
    sign_in(page, "hjkim")
    expect(page.get_by_role("heading", level=1)).to_have_text("Dashboard")
    journey.states["hjkim"] = page.context.storage_state()


def test_a_user_comes_in_by_a_link_that_works_once(page_in: PageIn, journey: Journey) -> None:
    page = page_in(state=journey.state("hjkim"))
    link = make_user(page, "minji", "Minji Lee")
    page.get_by_role("link", name="I have sent it").click()
    journey.keep("user", page)
    hers = page_in()
    hers.goto(link)
    fill(hers, {"password": PASSWORD})
    hers.get_by_role("button", name="Set password and sign in").click()
    expect(hers.get_by_role("link", name="minji")).to_be_visible()
    journey.states["minji"] = hers.context.storage_state()
    stranger = page_in()
    again = stranger.goto(link)
    assert again and again.status == 404


def test_a_workspace_gets_both_units(page_in: PageIn, journey: Journey, walks: dict[str, Walk]) -> None:
    page = page_in(state=journey.state("hjkim"))
    walks["workspace"] = Walk(page)
    straight_paths.make_workspace(walks["workspace"], "vision-lab", 2, "minji")
    journey.keep("workspace", page)


def test_one_form_invites_a_person_into_a_workspace(
    page_in: PageIn, journey: Journey, walks: dict[str, Walk]
) -> None:
    page = page_in(state=journey.state("hjkim"))
    walks["invitation"] = Walk(page)
    link = straight_paths.invite(walks["invitation"], "jiwoo", "Jiwoo Park", "vision-lab")
    journey.made["link"] = link.removeprefix(f"{journey.url}/link/")
    show(page, "user-link", "en")


def test_an_uploaded_archive_becomes_a_dataset(
    page_in: PageIn, journey: Journey, walks: dict[str, Walk]
) -> None:
    page = page_in(state=journey.state("minji"))
    walks["upload"] = Walk(page)
    straight_paths.upload_dataset(walks["upload"], "shapes", archive_of_shapes())
    journey.keep("dataset", page)
    # The page follows the import by itself.
    expect(page.get_by_text("300 images")).to_be_visible(timeout=LONG_MS)
    for shape in SHAPES:
        expect(page.get_by_role("region", name="Images by class")).to_contain_text(shape)


def test_a_training_of_a_built_in_model_is_made(
    page_in: PageIn, journey: Journey, walks: dict[str, Walk]
) -> None:
    page = page_in(state=journey.state("minji"))
    walks["built-in"] = Walk(page)
    straight_paths.make_built_in_training(walks["built-in"], "shapes-lenet")
    journey.keep("lenet", page)


def test_own_code_is_a_running_job(page_in: PageIn, journey: Journey, walks: dict[str, Walk]) -> None:
    page = page_in(state=journey.state("minji"))
    walks["own code"] = Walk(page)
    straight_paths.run_own_code(walks["own code"], "noisy-descent", OWN_CODE, straight_paths.LONG_JOB)
    journey.keep("running", page)
    expect(page.locator(".pill")).to_have_text("Running", timeout=LONG_MS)
    page.get_by_role("link", name="noisy-descent").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("noisy-descent")
    journey.keep("own", page)


def test_two_jobs_run_and_the_third_starts_by_itself_when_one_ends(
    page_in: PageIn, journey: Journey, walks: dict[str, Walk]
) -> None:
    page = page_in(state=journey.state("minji"))
    own, lenet = int(journey.path("{own}")), int(journey.path("{lenet}"))
    script = {"script": OWN_CODE.name, "launcher": "plain", "units": "1"}
    make_job(page, own, {"name": "descent-short", "arguments": "100", "time_limit": "5m", **script})
    journey.keep("short", page)
    expect(page.locator(".pill")).to_have_text("Running", timeout=LONG_MS)
    third = page_in(state=journey.state("minji"))
    walks["job"] = Walk(third)
    straight_paths.start_job_of(walks["job"], lenet, straight_paths.BUILT_IN_JOB)
    journey.keep("finished", third)
    third.evaluate("() => window.neverLeft = true")

    expect(third.locator(".pill")).to_have_text("Waiting")
    waiting = third.locator('.rail a[href="/queue"] .count')
    expect(waiting).to_have_text("1")
    reason = third.get_by_role("region", name="Why it waits")
    expect(reason).to_contain_text(re.compile(r"Needs 1 CPU slot; 0 are free|uses 2 of its 2 CPU slots"))
    # Of the two only the short one says when it will end at the latest.
    expect(reason).to_contain_text(re.compile(journey.path("when job-{short} ends, about ") + r"\d\d:\d\d"))
    queue = page_in("ko", state=journey.state("hjkim"))
    queue.goto("/queue")
    line = queue.get_by_role("row").filter(has_text=journey.path("job-{finished}"))
    expect(line).to_contain_text(re.compile("CPU 슬롯 1개가 필요한데|할당량 CPU 슬롯 2개 가운데"))
    queue.close()

    log_and_graph_grow(page, journey)

    expect(third.locator(".pill")).to_have_text("Running", timeout=LONG_MS)
    # The page asks again by itself every 15 seconds where nothing rings.
    expect(waiting).to_have_count(0, timeout=LONG_MS)
    expect(page.locator(".pill")).to_have_text("Finished")
    expect(third.locator(".pill")).to_have_text("Finished", timeout=LONG_MS)
    expect(third.locator("#job-head")).to_contain_text(re.compile(r"Best validation\s*\d+(\.\d)? %"))
    expect(
        third.get_by_role("img", name=re.compile(r"^Accuracy: train [\d.]+ %, validation"))
    ).to_be_visible()
    assert third.evaluate("() => window.neverLeft")


def test_several_values_become_a_sweep_that_is_compared(
    page_in: PageIn, journey: Journey, walks: dict[str, Walk]
) -> None:
    """On the one unit that the long job leaves free: one after the other."""
    page = page_in(state=journey.state("minji"))
    workspace = int(journey.path("{workspace}"))
    walks["sweep"] = Walk(page)
    straight_paths.start_sweep(walks["sweep"], workspace, "noisy-descent", 2, straight_paths.SWEEP)
    journey.keep("sweep", page)
    expect(page.locator("#job-head")).to_contain_text("2 of 2 ended", timeout=LONG_MS)
    expect(page.get_by_role("columnheader", name="steps")).to_be_visible()
    expect(page.locator(".compare b", has_text="%").first).to_be_visible()
    open_settled(page, journey.path("/sweeps/{sweep}"))
    curves = page.get_by_role("img", name=re.compile(r"^val accuracy: job-\d+ .*[\d.]+ %, job-\d+ "))
    expect(curves).to_be_visible()
    page.get_by_role("link", name=re.compile(r"^Do not draw job-")).first.click()
    expect(page.get_by_role("link", name=re.compile(r"^Draw job-"))).to_have_count(1)


def log_and_graph_grow(page: Page, journey: Journey) -> None:
    """Between two looks, without anybody loading the page again."""
    graph = page.get_by_role("img", name=re.compile(r"^Loss: train [\d.]+, validation [\d.]+$"))
    expect(graph).to_be_visible()
    before = graph.get_attribute("aria-label") or ""
    page.evaluate("() => window.neverLeft = true")
    expect(graph).not_to_have_attribute("aria-label", before)
    assert page.evaluate("() => window.neverLeft")
    page.goto(journey.path("/jobs/{running}?tab=log"))
    lines = page.locator(".log-line")
    expect(lines.first).to_be_attached()
    page.evaluate("() => window.neverLeft = true")
    last = lines.last.inner_text()
    expect(lines.last).not_to_have_text(last)
    expect(lines.last).to_have_text(re.compile(r"step \d+ of 6000: loss "))
    assert page.evaluate("() => window.neverLeft")
    page.goto(journey.path("/jobs/{short}"))


def test_a_new_version_of_the_code_is_run(page_in: PageIn, journey: Journey, walks: dict[str, Walk]) -> None:
    page = page_in(state=journey.state("minji"))
    walks["version"] = Walk(page)
    code = OWN_CODE.read_bytes().replace(b"descended", b"arrived")
    script = {"name": OWN_CODE.name, "mimeType": "text/x-python", "buffer": code}
    training = int(journey.path("{own}"))
    straight_paths.run_new_version(walks["version"], training, script, straight_paths.SHORT_JOB)
    expect(page.locator(".pill")).to_have_text("Finished", timeout=LONG_MS)


def test_a_token_for_the_command_is_made(page_in: PageIn, journey: Journey, walks: dict[str, Walk]) -> None:
    walks["token"] = Walk(page_in(state=journey.state("minji")))
    assert straight_paths.make_token(walks["token"], "laptop").startswith("gc_")


def test_every_form_works_without_scripts(page_in: PageIn, journey: Journey, walks: dict[str, Walk]) -> None:
    """Sign in, a workspace, a dataset, a training, a job, and stopping it."""
    page = page_in(javascript=False)
    sign_in(page, "hjkim")
    page.goto("/workspaces/new")
    fill(page, {"name": "next-year", "units": "2", "starts_on": "2099-01-01", "ends_on": "2099-12-31"})
    page.get_by_role("button", name="Make workspace").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("next-year")

    page = page_in(javascript=False)
    walks["no scripts"] = Walk(page)
    straight_paths.sign_in_without_scripts(walks["no scripts"], "minji", PASSWORD)
    expect(page.locator("#script")).to_have_value(OWN_CODE.name)
    fill(page, {"units": "3"})
    page.get_by_role("button", name="Check").click()
    expect(page.get_by_role("alert")).to_contain_text("2")
    straight_paths.start_job(walks["no scripts"], straight_paths.WAITING_JOB)
    expect(page.locator(".pill")).to_have_text("Waiting")
    journey.keep("waiting", page)

    walks["sample"] = Walk(page)
    straight_paths.make_sample_digits(walks["sample"], int(journey.path("{workspace}")))
    page.goto(journey.path("/workspaces/{workspace}/datasets/new"))
    page.locator("#archive").set_input_files(
        {"name": "again.zip", "mimeType": "application/zip", "buffer": archive_of_shapes()}
    )
    fill(page, {"name": "shapes-again"})
    page.get_by_role("button", name="Upload").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("shapes-again")

    page.goto(journey.path("/workspaces/{workspace}/trainings/new"))
    fill(page, {"name": "without-scripts"})
    page.get_by_role("button", name="Make training").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("without-scripts")

    page.goto(journey.path("/trainings/{own}/jobs/new?before={running}"))
    fill(page, {"arguments": "5000"})
    page.get_by_role("button", name="Make 1 job").click()
    expect(page.locator(".pill")).to_have_text(re.compile("Waiting|Starting|Running"))
    journey.keep("stopped", page)
    walks["stop"] = Walk(page)
    straight_paths.stop_job(walks["stop"], int(journey.path("{stopped}")))
    page.goto(journey.path("/jobs/{stopped}"))
    expect(page.locator(".pill")).to_have_text(re.compile("Stopp(ing|ed)"))


def test_a_backup_is_near(page_in: PageIn, journey: Journey, walks: dict[str, Walk]) -> None:
    walks["backup"] = Walk(page_in(state=journey.state("hjkim")))
    straight_paths.prepare_backup(walks["backup"])


def test_a_job_is_started_by_the_keyboard_alone(page_in: PageIn, journey: Journey) -> None:
    journey.path("{own}")
    keys = straight_paths.start_job_by_keyboard(page_in(), "minji", PASSWORD)
    assert keys <= straight_paths.MOST_KEYS


def test_no_straight_path_is_longer_than_it_was_in_the_first_trial(walks: dict[str, Walk]) -> None:
    straight_paths.check_walks(walks, straight_paths.TABLE.read_text())


@pytest.mark.long
def test_a_repair_is_clicked_and_shows_itself_until_its_verdict(page_in: PageIn, journey: Journey) -> None:
    """The first one of a machine prepares Ansible."""
    pages = RepairPages(page_in(state=journey.state("hjkim")))
    walk = Walk(pages.page)
    straight_paths.run_repair(walk, "verify-access-log", "before the audit")
    run = pages.stay()
    assert pages.follow(PREPARES_WITHIN) == "verified"
    journey.made["repair"] = run
    straight_paths.check_walks({"repair": walk}, straight_paths.TABLE.read_text())


@pytest.mark.parametrize(("name", "language", "theme", "width"), dealt_dresses())
def test_everybody_can_use_every_page(
    visit: PageIn, journey: Journey, name: str, language: str, theme: str, width: int
) -> None:
    """Each page in one dress; `make test-all` looks at it in all of them."""
    page = visit(PAGES[name].who, language, width=width, state=journey.state(PAGES[name].who))
    page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
    open_settled(page, journey.path(PAGES[name].path), PAGES[name].status)
    expect(page.locator("html")).to_have_attribute("lang", language)
    check_dress(page, theme, RULES)


@pytest.mark.long
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", PAGES)
def test_every_page_is_whole_in_every_dress(
    visit: PageIn, journey: Journey, name: str, language: str
) -> None:
    """In all widths, in the light, and after dusk: the system turns dark while the page is open."""
    who = PAGES[name].who
    page = visit(who, language, state=journey.state(who))
    look_in_all_widths(page, name, journey.path(PAGES[name].path), language, PAGES[name].status)


def test_any_two_of_language_theme_and_width_are_seen_together() -> None:
    for one, other in ((LANGUAGES, THEMES), (LANGUAGES, WIDTHS), (THEMES, WIDTHS)):
        assert all(any({*pair} <= {*dress} for dress in DRESSES) for pair in product(one, other))
    assert len(DRESSES) < len(PAGES)


def test_no_page_is_forgotten(light_cluster: Cluster) -> None:
    """Whoever adds a page adds it to PAGES, or says here that it is none."""
    app = create_app(light_cluster)
    addresses = app.url_map.bind("127.0.0.1")
    paths = [page.path for page in PAGES.values()] + list(SHOWN_ONCE.values())
    seen = {addresses.match(re.sub(r"\{\w+\}", "1", path).partition("?")[0])[0] for path in paths}
    all_of_them = {rule.endpoint for rule in app.url_map.iter_rules() if "GET" in (rule.methods or ())}
    assert seen | NO_PAGES == all_of_them
    assert not seen & NO_PAGES
