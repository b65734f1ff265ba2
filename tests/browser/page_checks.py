"""Fails a test whose page breaks a rule of the browser or of accessibility."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, ConsoleMessage, Page, Request, Response

AXE = Path(__file__).parents[1] / "data" / "axe-core-4.14.1" / "axe.min.js"
RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa")
OF_COLOURS = ("color-contrast", "link-in-text-block")
"""All that another theme of the same page can break."""
LOOK = """async (rules) =>
  (await axe.run(document, {runOnly: rules, resultTypes: ["violations"]})).violations"""
"""What is right is not told: on a large page that is most of what axe would have to write."""
SCREENS = Path(__file__).parents[1] / "output" / "screens"
OUR_OWN_REFUSAL = "the server responded with a status of 4"
"""Chromium writes every refused form into the console; whether a refusal was right is the test's business."""

TELL_VIOLATIONS = """
document.addEventListener("securitypolicyviolation",
  (event) => tellViolation(`${event.effectiveDirective} ${event.blockedURI} ${event.sourceFile || ""}`));
"""


@dataclass
class Watch:
    """Collects what was wrong on all pages of one browser context."""

    origin: str
    problems: list[str] = field(default_factory=list)

    def begin(self, context: BrowserContext) -> None:
        context.expose_function("tellViolation", lambda text: self.problems.append(f"policy: {text}"))
        context.add_init_script(TELL_VIOLATIONS)
        context.on("request", self.see_request)
        context.on("response", self.see_response)
        context.on("console", self.see_console)
        context.on("weberror", lambda error: self.problems.append(f"script: {error.error}"))

    def see_request(self, request: Request) -> None:
        """The air gap: nothing is asked of another site."""
        if not request.url.startswith((self.origin + "/", "data:", "blob:", "about:")):
            self.problems.append(f"left the site: {request.url}")

    def see_response(self, response: Response) -> None:
        path = urlsplit(response.url).path
        if response.status >= 500 or (response.status >= 400 and path.startswith("/static/")):
            self.problems.append(f"{response.status}: {path}")

    def see_console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and OUR_OWN_REFUSAL not in message.text:
            self.problems.append(f"console {message.type}: {message.text}")


def assert_accessible(page: Page, rules: Sequence[str] = RULES) -> None:
    """No violation of WCAG 2.0 to 2.2, A and AA, that axe can see; names rule, element and way out."""
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate(LOOK, list(rules))
    broken = [
        f"{violation['id']} ({violation['helpUrl'].rsplit('/', 1)[-1].split('?')[0]}): {node['html'][:160]}\n"
        f"    {node['failureSummary'].splitlines()[-1].strip()}"
        for violation in found
        for node in violation["nodes"]
    ]
    assert not broken, f"{page.url}\n" + "\n".join(broken)


def assert_fits(page: Page) -> None:
    """The page never scrolls sideways; names what sticks out."""
    wide = page.evaluate(
        """() => document.documentElement.scrollWidth <= innerWidth ? [] :
             [...document.body.querySelectorAll("*")]
               .filter((element) => element.getBoundingClientRect().right > innerWidth + 1)
               .slice(0, 5).map((element) => element.outerHTML.slice(0, 120))"""
    )
    assert not wide, f"{page.url} is wider than the window:\n" + json.dumps(
        wide, indent=1, ensure_ascii=False
    )


CUT = """() => {
  const cut = [];
  const say = (element, what) => cut.push(`${what}: ${element.outerHTML.slice(0, 160).replace(/\\s+/g, " ")}`);
  const hides = (style, axis) => ["hidden", "clip"].includes(style[`overflow${axis}`]);
  for (const element of document.body.querySelectorAll("*")) {
    const style = getComputedStyle(element);
    if (element.closest("svg, canvas, textarea, .uplot, .hidden-word, .skip, dialog:not([open])")) continue;
    if (element.clientWidth < 2 || element.clientHeight < 2 || style.visibility === "hidden") continue;
    const wide = element.scrollWidth > element.clientWidth + 1, high = element.scrollHeight > element.clientHeight + 2;
    if (wide && hides(style, "X") && style.textOverflow !== "ellipsis") say(element, "cut at the right");
    if (high && hides(style, "Y") && style.textOverflow !== "ellipsis") say(element, "cut below");
    if (wide && ["auto", "scroll"].includes(style.overflowX) && !style.backgroundAttachment.includes("local"))
      say(element, "scrolls sideways without a sign");
    if (wide && style.overflowX === "visible" && element.matches(".btn, .pill, .tag, .segments > *, th, td"))
      say(element, "sticks out");
  }
  return cut;
}"""
"""An ellipsis is a sign, and so is a shadow at the edge (CSS: a background that is attached to what scrolls).
The lines of a text field go with the caret.
"""


def assert_nothing_cut(page: Page) -> None:
    """No text ends at an edge without a sign; names what does."""
    cut = page.evaluate(CUT)
    assert not cut, f"{page.url} at {page.viewport_size}:\n" + "\n".join(cut[:12])


def take_screen(page: Page, name: str) -> Path:
    """A picture of the whole page in tests/output/screens, to be looked at."""
    SCREENS.mkdir(parents=True, exist_ok=True)
    path = SCREENS / f"{name}.png"
    page.evaluate("scrollTo(0, 0)")
    page.screenshot(path=path, full_page=True)
    return path
