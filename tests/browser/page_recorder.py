"""A page that nobody touches: it writes down itself what it shows from now on, and when its stream rang."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Page

WRITE_DOWN = """() => {
  const seen = window.seen = {states: [], labels: {}, lines: [], rings: {}};
  const add = (list, value) => value === undefined || list.at(-1) === value || list.push(value);
  const look = () => {
    add(seen.states, document.querySelector("#job-head .pill")?.textContent.trim());
    for (const chart of document.querySelectorAll("[data-chart]"))
      add(seen.labels[chart.id] ??= [], chart.getAttribute("aria-label"));
    add(seen.lines, document.querySelectorAll(".log-line").length);
  };
  new MutationObserver(look).observe(document.body,
    {subtree: true, childList: true, characterData: true, attributes: true, attributeFilter: ["aria-label"]});
  for (const name of ["jobs", "log", "metrics"])
    document.body.addEventListener(`gc:${name}`, () => seen.rings[name] = (seen.rings[name] || 0) + 1);
  look();
}"""
"""Rings come from the stream alone; graphs and log also ask by themselves every few seconds."""


@dataclass(frozen=True)
class Seen:
    """Everything in its order, each thing once until another one takes its place."""

    states: list[str]
    graphs: dict[str, list[str]]
    """The names of each graph, which have its last values."""
    lines: list[int]
    """How many lines of the log stood there."""
    rings: dict[str, int]


def watch(page: Page) -> None:
    page.evaluate(WRITE_DOWN)


def seen_on(page: Page) -> Seen:
    """Nothing where the page was loaded anew meanwhile."""
    told: dict[str, Any] | None = page.evaluate("() => window.seen")
    assert told, "the page was loaded anew"
    return Seen(told["states"], told["labels"], told["lines"], told["rings"])
