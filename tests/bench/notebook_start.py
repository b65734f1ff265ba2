"""From the click on *Open JupyterLab* to an idle kernel in a real browser, station by station.

python -m tests.bench.notebook_start [--turns 7] [--write FILE]

Each turn is a notebook of a new training in a new chromium without anything cached, on an installation of `make up`.
A station is a moment that a row, a file, Jupyter's log or the browser has noted, in seconds after the click;
the kernel's stations begin at the click on *Python 3*. Prints median, least and most. The goal is 10 s of waiting in
all. With `--write` each turn is a line of JSON, so that two versions of the product can be measured in turn.
"""

import argparse
import json
import re
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
from pathlib import Path

from playwright.sync_api import Browser, Page, WebSocket
from sqlalchemy import select

from cluster.domain.states import TrainingKind, Visibility
from cluster.services import trainings
from cluster.services.jobs import stop_requests
from cluster.services.notebooks import notebook_rows
from cluster.services.storage import folders
from cluster.services.storage.notebook_folders import socket_path
from cluster.store.jobs import Job, JobEvent
from tests.bench.bench_installation import House, a_house, wait_until
from tests.bench.idle_notebooks import has_editor
from tests.bench.programs import TRAINING_CODE
from tests.browser.conftest import find_chromium, launched, signed_in
from tests.browser.notebooks.jupyterlab import IDLE_KERNEL, LONG_MS
from tests.builders import a_user, a_workspace, actor_of

GOAL = 10.0
"""Seconds from the click to the idle kernel, without the person's own time before the second click."""
LOG_LINE = re.compile(r"^\[I (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}) \w+\] (.*)$", re.MULTILINE)
SERVING = "Jupyter Server"
NAVIGATION = """() => {
  const [page] = performance.getEntriesByType('navigation');
  const loaded = performance.getEntriesByType('resource');
  return [performance.timeOrigin / 1000, page.responseEnd / 1000, page.domContentLoadedEventEnd / 1000, loaded.length,
    loaded.reduce((sum, each) => sum + each.transferSize, 0)];
}"""


@dataclass
class Turn:
    """The stations of one start, in seconds after `clicked_at`."""

    clicked_at: float
    stations: dict[str, float] = field(default_factory=dict)

    def note(self, name: str, moment: float | None = None) -> None:
        """The first time counts. Without a moment: now."""
        self.stations.setdefault(name, (time.time() if moment is None else moment) - self.clicked_at)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--write", type=Path)
    told = parser.parse_args(arguments)
    chromium = find_chromium()
    assert chromium, "no chromium"
    turns = []
    with a_house("sqlite") as house, launched(chromium) as browser:
        wait_until(lambda: has_editor(house.cluster), 600, "JupyterLab")
        starts = Starts(house, browser)
        starts.turn()  # It finds nothing in the memory of the machine; the others are alike.
        for _ in range(told.turns):
            turns.append(starts.turn())
            if told.write:
                with told.write.open("a") as file:
                    file.write(json.dumps(turns[-1]) + "\n")
    show(turns)


class Starts:
    """One person who opens and stops notebooks, each of another training, so that none opens what another left open."""

    def __init__(self, house: House, browser: Browser) -> None:
        self.house, self.browser = house, browser
        self.person = a_user(house.cluster, "minji")
        self.workspace = a_workspace(house.cluster, self.person, units=2)
        self.names = (f"shapes-{number}" for number in count(1))

    def turn(self) -> dict[str, float]:
        training = trainings.create_training(
            *(self.house.cluster, actor_of(self.person), self.workspace.id, next(self.names), ""),
            *(TrainingKind.ADVANCED, None, Visibility.PUBLIC, TRAINING_CODE),
        )
        url = f"http://127.0.0.1:{self.house.port}"
        context = self.browser.new_context(
            base_url=url, locale="en-US", storage_state=signed_in(self.house.cluster, self.person, url)
        )
        try:
            page = context.new_page()
            page.goto(f"/trainings/{training.id}/notebook")
            turn = self.open(page)
            self.read_server(turn)
            self.start_kernel(page, turn)
            return turn.stations
        finally:
            context.close()
            self.stop()

    def open(self, page: Page) -> Turn:
        turn = Turn(time.time())
        note_answers(
            page,
            turn,
            {"/notebook/open": "the page asks for the ticket", "/lab": "JupyterLab's page has answered"},
        )
        page.locator(".form-foot .btn-ink").click(no_wait_after=True)
        page.wait_for_url(re.compile(r"/jobs/\d+/notebook|/nb/\d+/"))
        turn.note("the progress page is shown")
        page.wait_for_url(re.compile(r"/nb/\d+/lab"), timeout=LONG_MS)
        page.locator(".jp-LauncherCard").first.wait_for(timeout=LONG_MS)
        turn.note("JupyterLab is usable")
        begun, answered, parsed, requests, size = page.evaluate(NAVIGATION)
        turn.note("JupyterLab's page has arrived", begun + answered)
        turn.note("its first scripts have run", begun + parsed)
        turn.stations["requests"], turn.stations["MB"] = requests, size / 1e6
        return turn

    def start_kernel(self, page: Page, turn: Turn) -> None:
        kernel = Turn(time.time())
        note_answers(page, kernel, {"/api/sessions": "kernel: the session exists"})
        page.on("websocket", lambda socket: note_messages(socket, kernel))
        page.locator(".jp-LauncherCard[data-category='Notebook']").first.click()
        page.locator(".jp-Notebook-cell").first.wait_for(timeout=LONG_MS)
        kernel.note("kernel: the notebook is shown")
        page.locator("#jp-main-statusbar", has_text=IDLE_KERNEL).wait_for(timeout=LONG_MS)
        kernel.note("kernel: idle")
        turn.stations |= kernel.stations
        turn.stations["in all"] = turn.stations["JupyterLab is usable"] + kernel.stations["kernel: idle"]

    def read_server(self, turn: Turn) -> None:
        """From the rows, the files and the processes of the notebook that runs."""
        (state,) = notebook_rows.list_own_notebooks(self.house.cluster, actor_of(self.person))
        job = state.job
        turn.note("the row is written", job.submitted_at.timestamp())
        with self.house.cluster.store.read() as session:
            events = session.scalars(select(JobEvent).where(JobEvent.job_id == job.id))
            moments = {event.code: event.at.timestamp() for event in events}
        turn.note("the shim has started", moments["job.started"])
        turn.note("the row says ready", moments["notebook.ready"])
        socket = socket_path(self.house.cluster.settings, job.id, job.fence)
        turn.note("Jupyter listens", socket.stat().st_ctime)
        self.read_log(turn, job)

    def read_log(self, turn: Turn, job: Job) -> None:
        folder = folders.attempt_folder(self.house.cluster.settings, job.workspace_id, job.id, job.fence)
        text = (folder / "out" / "rank-0.stderr").read_text()
        for number, (moment, line) in enumerate(LOG_LINE.findall(text)):
            at = datetime.strptime(moment, "%Y-%m-%d %H:%M:%S.%f").astimezone().timestamp()
            if number == 0:
                turn.note("Jupyter's first line", at)
            if line.startswith(SERVING):
                turn.note("Jupyter says it serves", at)

    def stop(self) -> None:
        cluster, actor = self.house.cluster, actor_of(self.person)
        for state in notebook_rows.list_own_notebooks(cluster, actor):
            stop_requests.stop_job(cluster, actor, state.job.id)
        wait_until(lambda: not notebook_rows.list_own_notebooks(cluster, actor), 60, "the notebook has ended")


def note_answers(page: Page, turn: Turn, names: dict[str, str]) -> None:
    """Notes the first answer to each path that ends so."""
    page.on(
        "response",
        lambda answer: [
            turn.note(name) for end, name in names.items() if answer.url.partition("?")[0].endswith(end)
        ],
    )


def note_messages(socket: WebSocket, turn: Turn) -> None:
    if "/channels" in socket.url:
        turn.note("kernel: the websocket is asked for")
        note: Callable[[str | bytes], None] = lambda _: turn.note("kernel: its first message")  # noqa: E731
        socket.on("framereceived", note)


def show(turns: Sequence[dict[str, float]]) -> None:
    print("| station | median | least | most |\n|---|---:|---:|---:|")
    medians = {name: statistics.median(turn[name] for turn in turns if name in turn) for name in turns[0]}
    for name in sorted(medians, key=lambda name: (name.startswith(("kernel", "in all")), medians[name])):
        values = [turn[name] for turn in turns if name in turn]
        print(f"| {name} | {medians[name]:.2f} | {min(values):.2f} | {max(values):.2f} |")
    waited = medians["in all"]
    print(f"goal: {GOAL:.0f} s: {'kept' if waited <= GOAL else 'MISSED'} ({waited:.1f} s in the median)")


if __name__ == "__main__":
    main()
