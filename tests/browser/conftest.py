"""A real browser: Debian's chromium under Playwright, with a watch on every page.

A test module gives a `base_url`; `page_in` opens pages of that site in a language and a theme. Nothing here
downloads a browser.
"""

from __future__ import annotations

import logging
import os
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from flask import Flask
from playwright.sync_api import Browser, BrowserContext, Page, StorageState, sync_playwright
from werkzeug.serving import make_server

from cluster.services.context import Cluster
from cluster.services.people.sessions import begin_session
from cluster.store.users import User
from tests.browser import component_gallery
from tests.browser.page_checks import Watch
from tests.conftest import IS_CI

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

PageIn = Callable[..., Page]
LOCALES = {"ko": "ko-KR", "en": "en-US"}
NO_CHROMIUM = "no chromium: apt-get install chromium fonts-noto-cjk"
# Tests run as root in their containers, where chromium's own sandbox cannot start.
ARGUMENTS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--font-render-hinting=none"]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One chromium for all tests; skips with the reason where there is none, fails in CI."""
    path = find_chromium()
    if path is None:
        (pytest.fail if IS_CI else pytest.skip)(NO_CHROMIUM)
    with launched(path) as browser:
        yield browser


def find_chromium() -> str | None:
    return os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


@contextmanager
def launched(path: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def page_in(browser: Browser, base_url: str) -> Iterator[PageIn]:
    """`page_in("ko", "dark", javascript=True, width=1440)` opens an empty page of the site at `base_url`."""
    with pages_of(browser, base_url) as open_page:
        yield open_page


@contextmanager
def pages_of(browser: Browser, base_url: str) -> Iterator[PageIn]:
    """Each call of what this gives is another browser with its own cookies, or with those of `state`.

    At the end nothing may have left the site, broken the policy, or been written into the console.
    """
    opened = []

    def open_page(language: str = "en", theme: str = "light", **dress: Any) -> Page:
        opened.append(watched_context(browser, base_url, language, theme, **dress))
        return opened[-1][0].new_page()

    yield open_page
    for context, _ in opened:
        context.close()
    problems = [problem for _, watch in opened for problem in watch.problems]
    assert not problems, "\n".join(problems)


def watched_context(
    browser: Browser,
    base_url: str,
    language: str,
    theme: str = "light",
    *,
    javascript: bool = True,
    width: int = 1440,
    height: int = 900,
    state: StorageState | None = None,
) -> tuple[BrowserContext, Watch]:
    context = browser.new_context(
        base_url=base_url,
        locale=LOCALES[language],
        timezone_id="Asia/Seoul",
        color_scheme=theme,  # type: ignore[arg-type]
        reduced_motion="reduce",
        java_script_enabled=javascript,
        viewport={"width": width, "height": height},
        storage_state=state,
    )
    context.set_default_timeout(10_000)
    watch = Watch(base_url)
    watch.begin(context)
    return context, watch


class Visitors:
    """Browsers that stay open from test to test, one for each person in each dress: they keep what they have loaded."""

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self.opened: dict[tuple[Any, ...], tuple[BrowserContext, Watch]] = {}

    def page(self, base_url: str, who: str, language: str, **dress: Any) -> Page:
        key = (who, language, dress.get("width"))
        if key not in self.opened:
            self.opened[key] = watched_context(self.browser, base_url, language, **dress)
        return self.opened[key][0].new_page()

    def take_problems(self) -> list[str]:
        """Those since the last time."""
        found = [problem for _, watch in self.opened.values() for problem in watch.problems]
        for _, watch in self.opened.values():
            watch.problems.clear()
        return found

    def close(self) -> None:
        for context, _ in self.opened.values():
            context.close()


@pytest.fixture(scope="module")
def visitors(browser: Browser) -> Iterator[Visitors]:
    visitors = Visitors(browser)
    yield visitors
    visitors.close()


@pytest.fixture
def visit(visitors: Visitors, base_url: str) -> Iterator[PageIn]:
    """`visit("minji", "ko", state=…)`: a new page in her browser, watched as all are."""
    pages = []

    def open_page(who: str, language: str, **dress: Any) -> Page:
        pages.append(visitors.page(base_url, who, language, **dress))
        return pages[-1]

    yield open_page
    for page in pages:
        page.close()
    problems = visitors.take_problems()
    assert not problems, "\n".join(problems)


@pytest.fixture
def tape() -> component_gallery.Tape:
    """What the gallery's sample job has written; a test lets it write more."""
    return component_gallery.Tape(log=bytearray(component_gallery.log_text()))


@pytest.fixture
def gallery_url(tape: component_gallery.Tape) -> Iterator[str]:
    """The gallery of components on a free port."""
    app = component_gallery.make_app(tape)
    with served(app) as url:
        yield url
    assert app.config["reports"] == []


def signed_in(cluster: Cluster, person: User, url: str) -> StorageState:
    """The cookies of somebody who has signed in at this address."""
    cookie = {
        "name": f"gc_session_{cluster.settings.port}",
        "value": begin_session(cluster, person.id, "127.0.0.1", "a test"),
        "domain": urlsplit(url).hostname, "path": "/", "expires": -1,
        "httpOnly": True, "secure": False, "sameSite": "Lax",
    }  # fmt: skip
    return {"cookies": [cookie], "origins": []}  # type: ignore[typeddict-item]


def with_closed_files(app: Flask) -> WSGIApplication:
    """The application, whose static files are closed before they are sent.

    The server of this process leaves one open if the browser goes on to another page meanwhile, and the warning about
    it would fail whichever test runs then.
    """

    def answer(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        parts: Any = app.wsgi_app(environ, start_response)
        if not environ["PATH_INFO"].startswith("/static/"):
            return parts
        with closing(parts):
            return [b"".join(parts)]

    return answer


@contextmanager
def served(app: Flask) -> Iterator[str]:
    """The address at which this process serves the application meanwhile."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = make_server("127.0.0.1", 0, with_closed_files(app), threaded=True)
    server.daemon_threads = True  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.socket.close()
        thread.join(5)
