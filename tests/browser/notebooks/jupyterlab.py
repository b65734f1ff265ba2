"""What people do in JupyterLab: run cells, and edit a file."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

LONG_MS = 60_000
IDLE_KERNEL = re.compile(r"Python 3[^|]*\| Idle")


def run_cell(page: Page, code: str) -> None:
    """Waits for the kernel in the status bar: the indicator beside the kernel's name begins as idle without one."""
    expect(page.locator("#jp-main-statusbar")).to_contain_text(IDLE_KERNEL, timeout=LONG_MS)
    type_and_run(page, code)


def type_and_run(page: Page, code: str) -> None:
    type_in_cell(page, code)
    page.keyboard.press("Shift+Enter")


def type_in_cell(page: Page, code: str) -> None:
    """Types only once the cell has the focus, which JupyterLab moves while it opens."""
    cell = page.locator(".jp-Notebook-cell .cm-content").last
    cell.click()
    expect(cell).to_be_focused()
    page.keyboard.insert_text(code)
    expect(cell).to_contain_text(code.splitlines()[0][:20])


def edit_file(page: Page, name: str, content: str) -> None:
    """Opens it from the list of files, replaces what it has, and saves it."""
    page.locator(".jp-DirListing-item", has_text=name).dblclick()
    text = page.locator(".jp-FileEditor .cm-content")
    text.click()
    expect(text).to_be_focused()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(content)
    with page.expect_response(lambda answer: answer.request.method == "PUT" and name in answer.url) as saved:
        page.keyboard.press("Control+S")
    assert saved.value.ok, saved.value.status
