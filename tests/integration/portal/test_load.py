"""A portal under load, briefly: what its pages cost beside bare Flask on the same machine, and logs that many follow.

The limits are generous, for other tests run beside these: `make bench` measures.
"""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from cluster.domain.states import JobState
from cluster.services.storage.folders import attempt_folder
from cluster.store.nodes import Node
from cluster.store.trainings import Training
from tests.bench.full_size.database_file import FOUR_NODES, fill_file, keep_nodes_ready
from tests.bench.portal_load.bare_flask import APP, GUNICORN, settings_variables
from tests.bench.portal_load.client_process import LoadResult, run_clients
from tests.bench.portal_load.full_installation import cpu_of, sign_in, sign_in_people
from tests.bench.portal_load.log_readers import Seen
from tests.bench.portal_load.log_writers import write_logs
from tests.bench.portal_load.request_plan import PlannedPage, RequestPlan, pages_of
from tests.bench.portal_load.tails import read_seen, reader_process
from tests.builders import a_job, holding
from tests.free_ports import free_port
from tests.installation import ROOT
from tests.integration.portal.conftest import Portal, a_portal, wait_until_it_answers
from tests.integration.portal.live.conftest import serve

SIZE = replace(FOUR_NODES, jobs=1_000, audit_entries=2_000, operations=100)
MOST_BARE_PAGES = 400
"""So many pages of bare Flask may a mixed page of the portal cost."""
READERS = 20
LINES_PER_SECOND = 50
SECONDS = 3
MOST_DELAY = 5.0
"""Seconds, for 99 of 100 lines; an idle machine: about one."""


@pytest.fixture(scope="module")
def filled_portal(tmp_path_factory: pytest.TempPathFactory, migrated_file: Path) -> Iterator[Portal]:
    file = tmp_path_factory.mktemp("filled") / "groundcrew.db"
    shutil.copy(migrated_file, file)
    fill_file(file, SIZE)
    with a_portal(file) as portal:
        keep_nodes_ready(portal.cluster)
        yield portal


@pytest.mark.long
def test_a_page_costs_a_bounded_number_of_bare_pages(filled_portal: Portal, tmp_path: Path) -> None:
    """By the CPU of the server's processes, which others on the machine change little; the rates are said beside it."""
    people = sign_in_people(filled_portal.cluster, SIZE, filled_portal.port)
    clients = [pages_of(filled_portal.cluster, SIZE, person) for person in people[2:6]]  # Two and two.
    with bare_flask_alone(tmp_path) as (bare_port, bare_process):
        run_clients(RequestPlan(filled_portal.port, 0.5, clients))
        ours, page_seconds = measured(filled_portal.process.pid, RequestPlan(filled_portal.port, 3, clients))
        bare = [[PlannedPage("bare", ["/"], {})]] * len(clients)
        flask, bare_seconds = measured(bare_process, RequestPlan(bare_port, 1, bare))
    assert ours.unanswered == 0, {name: page.statuses for name, page in ours.pages.items()}
    rates = f"{ours.rate:.1f} pages/s beside {flask.rate:.0f} bare ones"
    assert page_seconds / bare_seconds <= MOST_BARE_PAGES, rates


def measured(pid: int, plan: RequestPlan) -> tuple[LoadResult, float]:
    """What the clients saw, and the CPU seconds that the server used for each answer."""
    before = cpu_of(psutil.Process(pid))
    load = run_clients(plan)
    return load, (cpu_of(psutil.Process(pid)) - before) / max(1, load.answered)


@contextmanager
def bare_flask_alone(folder: Path) -> Iterator[tuple[int, int]]:
    """Its port and process id: under gunicorn as the portal is, without nginx, as the portal is here."""
    port, log = free_port(), folder / "bare.log"
    environment = os.environ | settings_variables(folder)
    with log.open("wb") as sink:
        command = [*GUNICORN, f"127.0.0.1:{port}", APP]
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=sink, stderr=sink)
    try:
        wait_until_it_answers(f"http://127.0.0.1:{port}/", process, log)
        yield port, process.pid
    finally:
        process.terminate()
        process.wait(60)


def test_twenty_readers_of_a_log_get_every_line_soon(filled_portal: Portal, tmp_path: Path) -> None:
    job, file = a_running_job(filled_portal)
    cluster = filled_portal.cluster
    people = [sign_in(cluster, SIZE, cluster.settings.port, user_id, 1) for user_id in (1, 2)]
    readers = [[people[number % 2].cookie, job] for number in range(READERS)]
    with (
        serve(cluster, tmp_path / "live.log") as live,
        reader_process({"port": live.port, "readers": readers, "seconds": SECONDS + 1}) as process,
    ):
        write_logs([file], LINES_PER_SECOND, SECONDS)
        seen = [Seen(**one) for one in read_seen(process)]
    assert [reader.is_refused for reader in seen] == [False] * READERS
    content = file.read_bytes()
    assert {reader.sha256 for reader in seen} == {hashlib.sha256(content).hexdigest()}, (
        "no byte lost or doubled"
    )
    delays = sorted(delay for reader in seen for delay in reader.delays)
    assert len(delays) == READERS * LINES_PER_SECOND * SECONDS
    assert delays[len(delays) * 99 // 100] <= MOST_DELAY


def a_running_job(portal: Portal) -> tuple[int, Path]:
    """Forged in rows, with the empty log of its program."""
    cluster = portal.cluster
    with cluster.store.read() as session:
        training = session.get_one(Training, 2)
        node = session.get_one(Node, 1)
        units = node.units[:1]
    job = a_job(cluster, training, state=JobState.RUNNING, units=1, fence=1)
    holding(cluster, job, units)
    out = attempt_folder(cluster.settings, job.workspace_id, job.id, 1) / "out"
    out.mkdir(parents=True)
    log = out / "rank-0.stdout"
    log.touch()
    return job.id, log
