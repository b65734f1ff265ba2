"""The gallery of components: both languages, both themes, phone and desk, with and without scripts."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.component_gallery import Tape
from tests.browser.conftest import PageIn
from tests.browser.page_checks import assert_accessible, assert_fits, take_screen

PAGES = {"board": "/", "components": "/components", "job": "/job", "log": "/job?tab=log", "gate": "/gate"}
BOTH = [("ko", "light"), ("ko", "dark"), ("en", "light"), ("en", "dark")]


@pytest.fixture
def base_url(gallery_url: str) -> str:
    return gallery_url


def settled(page: Page, path: str) -> None:
    """Opens the page and waits for what scripts still bring."""
    page.goto(path)
    if "log" in path:
        expect(page.locator(".log-line").first).to_be_attached()
    elif path == "/job":
        expect(page.locator("canvas")).to_have_count(4)
    page.evaluate("document.fonts.ready.then(() => true)")


@pytest.mark.parametrize(("language", "theme"), BOTH)
@pytest.mark.parametrize("name", PAGES)
def test_everybody_can_use_it(page_in: PageIn, name: str, language: str, theme: str) -> None:
    page = page_in(language, theme)
    settled(page, PAGES[name])
    assert page.locator("html").get_attribute("lang") == language
    assert page.locator("html").get_attribute("data-bs-theme") == theme
    assert_fits(page)
    assert_accessible(page)
    take_screen(page, f"gallery-{name}.{language}.{theme}")


@pytest.mark.parametrize("name", PAGES)
def test_a_phone_needs_no_sideways_scrolling(page_in: PageIn, name: str) -> None:
    page = page_in("ko", "light", width=390, height=844)
    settled(page, PAGES[name])
    assert_fits(page)
    assert_accessible(page)
    take_screen(page, f"gallery-{name}.ko.light.390")


def test_the_menu_opens_on_a_phone_without_scripts(page_in: PageIn) -> None:
    page = page_in("en", "light", javascript=False, width=390, height=844)
    page.goto("/")
    queue = page.locator(".rail").get_by_role("link", name="Queue")
    expect(queue).to_be_hidden()
    page.locator(".rail-button").click()
    expect(queue).to_be_visible()


def test_language_and_theme_change_without_scripts(page_in: PageIn) -> None:
    page = page_in("en", "light", javascript=False)
    page.goto("/components?x=1")
    page.get_by_role("button", name="한국어").click()
    expect(page).to_have_url(re.compile(r"/components\?x=1$"))
    expect(page.get_by_role("heading", level=1)).to_have_text("부품과 상태")
    page.get_by_role("button", name="밝게 또는 어둡게").click()
    expect(page.locator("html")).to_have_attribute("data-bs-theme", "dark")


def test_the_theme_changes_in_place_and_stays(page_in: PageIn) -> None:
    page = page_in("en", "dark")
    settled(page, "/job")
    with page.expect_response("**/theme"):
        page.get_by_role("button", name="Light or dark").click()
    expect(page.locator("html")).to_have_attribute("data-bs-theme", "light")
    expect(page.locator("canvas")).to_have_count(4)
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-bs-theme", "light")


def test_the_live_mark_says_how_old_the_page_is(page_in: PageIn) -> None:
    page = page_in("en")
    page.goto("/")
    expect(page.locator(".rail-foot .live")).to_have_text(re.compile(r"^Live · \d s ago$"))


def test_the_graphs_grow_while_the_job_runs(page_in: PageIn, tape: Tape) -> None:
    page = page_in("en")
    settled(page, "/job")
    graph = page.get_by_role("img", name=re.compile(r"^Loss: train [\d.]+, validation [\d.]+$"))
    before = graph.get_attribute("aria-label") or ""
    tape.steps += 40
    expect(graph).not_to_have_attribute("aria-label", before)


def test_the_legend_says_the_values_under_the_cursor(page_in: PageIn) -> None:
    page = page_in("en")
    settled(page, "/job")
    last = page.locator("[data-value='loss/train']").inner_text()
    page.locator("#loss .u-over").hover(position={"x": 60, "y": 60})
    expect(page.locator("[data-cursor]")).to_have_text(re.compile(r"^step \d+$"))
    expect(page.locator("[data-value='loss/train']")).not_to_have_text(last)
    expect(page.locator("[data-value='accuracy/train']")).to_have_text(re.compile(r" %$"))


def test_curves_that_are_not_chosen_are_faint(page_in: PageIn) -> None:
    page = page_in("en")
    settled(page, "/job")
    panel = page.locator(".panel", has=page.locator("#loss"))
    before = panel.locator("canvas").screenshot()
    train, validation = (
        panel.locator("[data-choose='loss/train']"),
        panel.locator("[data-choose='loss/validation']"),
    )
    validation.click()
    expect(validation).to_have_attribute("aria-pressed", "true")
    expect(train).to_have_attribute("aria-pressed", "false")
    page.mouse.move(0, 0)
    assert panel.locator("canvas").screenshot() != before
    validation.click()
    page.mouse.move(0, 0)
    assert panel.locator("canvas").screenshot() == before


def test_the_log_follows_until_someone_scrolls_up(page_in: PageIn, tape: Tape) -> None:
    page = page_in("en")
    settled(page, "/job?tab=log")
    expect(page.locator("#L400")).to_be_in_viewport()
    tape.log += b"half a"
    expect(page.locator("#L401 > span")).to_have_text("half a")
    tape.log += b" line\nnext\n"
    expect(page.locator("#L401 > span")).to_have_text("half a line")
    expect(page.locator("#L402")).to_be_in_viewport()
    page.locator("[data-lines]").hover()
    page.mouse.wheel(0, -3000)
    expect(page.locator("[data-follow]")).to_have_attribute("aria-pressed", "false")
    tape.log += b"one\ntwo\n"
    page.get_by_role("button", name="2 new lines").click()
    expect(page.locator("#L404")).to_be_in_viewport()


def test_a_line_of_the_log_has_an_address(page_in: PageIn) -> None:
    page = page_in("en")
    page.goto("/job?tab=log#L62")
    line = page.locator("#L62.pointed")
    expect(line).to_be_in_viewport()
    expect(line.locator("> span")).to_have_text("ERROR: it goes on all the same <b>not markup</b> a link")
    expect(line.locator("a[href*='elsewhere']")).to_have_count(0)
    expect(page.locator("#L63 > span")).to_have_text("100 %")
    page.locator("#L70 > i").click()
    expect(page).to_have_url(re.compile("#L70$"))


def test_the_log_is_searched(page_in: PageIn) -> None:
    page = page_in("en")
    settled(page, "/job?tab=log")
    page.keyboard.press("/")
    page.keyboard.type("step 45 ")
    expect(page.locator("[data-found]")).to_have_text("1 / 20")
    page.keyboard.press("Enter")
    expect(page.locator("[data-found]")).to_have_text("2 / 20")


def test_lines_of_the_log_have_times_and_can_be_filtered_by_level(page_in: PageIn, tape: Tape) -> None:
    page = page_in("en")
    settled(page, "/job?tab=log")
    expect(page.locator("#L399 > time")).to_have_text("09:06:38")
    expect(page.locator("#L400 > time")).to_have_text("")
    tape.log += b"RuntimeError: no\nlast\n"
    expect(page.locator("#L400 > time")).to_have_text("09:06:39")
    expect(page.locator("#L401 > time")).to_have_attribute("title", "2026-11-20 09:06:40")
    page.get_by_label("Lines", exact=True).select_option("errors")
    expect(page.locator("#L400")).to_be_hidden()
    expect(page.locator("#L401")).to_be_visible()
    expect(page.locator("#L61")).to_be_hidden()
    expect(page.locator("[data-count]")).to_have_text("1 of the last 402 lines")
    page.get_by_label("Lines", exact=True).select_option("warnings")
    expect(page.locator("#L61")).to_be_visible()
    take_screen(page, "log-warnings.en")


def test_alike_lines_are_folded_but_no_problem_is(page_in: PageIn, tape: Tape) -> None:
    page = page_in("ko")
    settled(page, "/job?tab=log")
    lines = page.locator(".log-line:visible")
    expect(page.locator(".log-line")).to_have_count(400)
    page.get_by_label("비슷한 줄 접기").check()
    # Lines 61 and 62 are a warning and an error, 63 a progress bar; the others differ in their numbers alone.
    expect(lines.locator("> i")).to_have_text(["1", "2", "60", "61", "62", "63", "64", "65", "400"])
    expect(page.locator("#L2 > span")).to_have_attribute("data-folded", "비슷한 줄 57개")
    tape.log += b"epoch 21/90 step 5 loss 0.004\ndone\n"
    expect(lines.last.locator("> span")).to_have_text("done")
    expect(lines).to_have_count(10)
    assert_accessible(page)
    page.locator("#L2 > span").click()
    expect(page.locator("#L30")).to_be_visible()
    page.get_by_label("비슷한 줄 접기").uncheck()
    expect(lines).to_have_count(402)
    take_screen(page, "log-folded.ko")


def test_a_long_log_is_read_backwards_in_pieces(page_in: PageIn, tape: Tape) -> None:
    tape.log += b"".join(b"line %d\n" % number for number in range(30_000))
    page = page_in("en")
    settled(page, "/job?tab=log")
    expect(page.locator("[data-count]")).to_have_text("30,400 lines")
    first = page.locator(".log-line > i").first
    begin = int(first.text_content() or 0)
    page.locator("[data-lines]").hover()
    page.mouse.wheel(0, -500_000)
    expect(first).not_to_have_text(str(begin))
    number = int(first.text_content() or 0)
    expect(page.locator(".log-line > span").first).to_have_text(f"line {number - 401}")


def test_a_log_that_is_written_faster_than_shown_says_what_it_skipped_and_loads_it(
    page_in: PageIn, tape: Tape
) -> None:
    page = page_in("en")
    settled(page, "/job?tab=log")
    tape.log += b"".join(b"line %d %s\n" % (number, b"y" * 1000) for number in range(401, 3601))
    skipped = page.get_by_role("button", name="lines were skipped: load them")
    expect(skipped).to_be_visible(timeout=60_000)
    first = int(page.locator(".log-line > i").first.text_content() or 0)
    missing = first - int((skipped.text_content() or "").split(" ")[0].replace(",", ""))
    expect(page.locator(f"#L{missing}")).to_have_count(0)
    skipped.click()
    expect(page.locator(f"#L{missing} > span")).to_have_text(re.compile(f"^line {missing} y"), timeout=30_000)
    expect(skipped).to_be_hidden(timeout=30_000)


def test_a_line_without_end_is_cut_and_the_next_one_is_right(page_in: PageIn, tape: Tape) -> None:
    page = page_in("en")
    settled(page, "/job?tab=log")
    tape.log += b"x" * 700_000
    expect(page.locator("#L401 > span")).to_have_text(re.compile(r"^x{4000} … cut here"))
    tape.log += b"\nnext\n"
    expect(page.locator("#L402 > span")).to_have_text("next")


def test_keys_can_be_switched_off(page_in: PageIn) -> None:
    page = page_in("en")
    page.goto("/components")
    page.keyboard.press("?")
    page.get_by_label("Keys are on").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_hidden()
