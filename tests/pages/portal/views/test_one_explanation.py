"""Form, dry run, `why`, queue and job page say the same of one job: the same object, and the same sentence.

Clock and queue stand still, and the queues are random.
"""

import html
import re
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from flask.testing import FlaskClient

from cluster import words
from cluster.domain.jobs.submission import JobRequest
from cluster.domain.queue.explanations import WaitingExplanation
from cluster.domain.states import DatasetState, JobState, Launcher
from cluster.domain.sweeps.plan import SweepRequest
from cluster.services.context import Cluster
from cluster.services.jobs import submission
from cluster.services.leases import HeldLease, acquire_lease
from cluster.services.people import api_tokens
from cluster.services.queue import holds_and_moves, queries
from cluster.services.queue.dispatch import place_waiting_jobs
from cluster.services.queue.submission_preview import preview_submission, preview_sweep
from cluster.services.queue.totals import refresh_queue_totals
from cluster.store.jobs import Job
from cluster.store.trainings import Training
from tests.builders import a_dataset, a_job, a_node, a_training, a_workspace, actor_of, holding
from tests.pages.portal.pages_lab import Lab
from tests.pages.portal.views.jobs.test_job_new import LENET
from tests.queue_reports import report_queue


def fill_queue(lab: Lab, random: Random) -> None:
    """Nodes, workspaces with earlier runs, running and waiting jobs; some are held or wait for their dataset."""
    cluster = lab.cluster
    nodes = [lab.node, *(a_node(cluster, random.randint(1, 4)) for _ in range(random.randint(0, 2)))]
    free = [unit for node in nodes for unit in node.units]
    trainings = [lab.lenet]
    for _ in range(random.randint(0, 2)):
        place = a_workspace(cluster, lab.manager, (lab.seoyeon,), units=4)
        trainings.append(a_training(cluster, place, lab.seoyeon))
    for training in trainings:
        for _ in range(random.randint(0, 3)):
            ran(lab, training, timedelta(seconds=random.choice((300, 600, 4000))))
    left = {training.id: 2 if training is lab.lenet else random.randint(1, 4) for training in trainings}
    for unit in random.sample(free, len(free)):
        able = [training for training in trainings if left[training.id]]
        if able and random.random() < 0.85:
            training = random.choice(able)
            left[training.id] -= 1
            job = a_job(
                cluster, training, state=JobState.RUNNING, fence=1, started_at=cluster.clock(),
                time_limit_seconds=random.choice((None, 600, 600, 3600, 7200)),
            )  # fmt: skip
            holding(cluster, job, [unit])
    late = a_dataset(cluster, lab.workspace, state=DatasetState.PREPARING)
    for _ in range(random.choice((0, 1, 3, 8, 80))):
        training = random.choice([lab.lenet, *trainings])
        job = a_job(
            cluster,
            training,
            units=random.choice((1, 1, 1, 2)),
            priority=random.choice((0, 0, 5)),
            time_limit_seconds=random.choice((None, 60, 1200, 1200, 86400)),
            dataset_id=late.id if training is lab.lenet and random.random() < 0.1 else None,
        )
        if random.random() < 0.05:
            holds_and_moves.hold_job(cluster, actor_of(lab.manager), job.id)


def ran(lab: Lab, training: Training, length: timedelta) -> None:
    now = lab.cluster.clock()
    a_job(lab.cluster, training, state=JobState.FINISHED, fence=1, started_at=now - length, ended_at=now)


def settle(cluster: Cluster, held: HeldLease) -> None:
    """What can start has started, and the scheduler has written the rest."""
    while place_waiting_jobs(cluster, held):
        pass
    refresh_queue_totals(cluster, held)
    report_queue(cluster)


def a_request(lab: Lab, random: Random) -> JobRequest:
    return JobRequest(
        name="asked",
        launcher=Launcher.HOROVOD,
        units=random.choice((1, 2)),
        dataset_id=lab.dataset.id,
        variables={"epochs": "2"},
        priority=random.choice((0, 0, 0, 3, 9)),
        time_limit_seconds=random.choice((None, 600, 36000)),
    )


def body_of(lab: Lab, request: JobRequest) -> dict[str, Any]:
    return {
        "training_id": lab.lenet.id,
        "units": request.units,
        "launcher": request.launcher.value,
        "dataset_id": request.dataset_id,
        "variables": dict(request.variables),
        "priority": request.priority,
        "time_limit_seconds": request.time_limit_seconds,
    }


def form_of(request: JobRequest) -> dict[str, str]:
    seconds = request.time_limit_seconds
    return LENET | {
        "units": str(request.units),
        "dataset": str(request.dataset_id),
        "priority": str(request.priority),
        "time_limit": f"{seconds}s" if seconds else "",
    }


def bearer(lab: Lab) -> dict[str, str]:
    _, text = api_tokens.create_api_token(lab.cluster, actor_of(lab.seoyeon), "laptop", ["read", "write"], 30)
    return {"Authorization": f"Bearer {text}"}


def page_text(browser: FlaskClient, address: str) -> str:
    return plain_text(browser.get(address).get_data(as_text=True))


def plain_text(page: str) -> str:
    # A time in a sentence is an element of its own, and no word is broken by it.
    text = re.sub(r"</?time\b[^>]*>", "", page)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())


def sentence_of(cluster: Cluster, explanation: WaitingExplanation, language: str) -> str:
    text = words.waiting_text(explanation, language, cluster.settings.zone, cluster.clock())
    return " ".join(str(text).split())


@pytest.mark.parametrize("seed", range(16))
def test_all_that_speak_of_a_waiting_job_say_the_same(lab: Lab, seed: int) -> None:
    random, cluster, actor = Random(seed), lab.cluster, actor_of(lab.seoyeon)
    held = acquire_lease(cluster, "scheduler", "a test", timedelta(hours=1))
    assert held is not None
    fill_queue(lab, random)
    settle(cluster, held)
    request, headers = a_request(lab, random), bearer(lab)
    language = random.choice(("en", "ko"))
    browser = lab.browser(lab.seoyeon, language)

    preview = preview_submission(cluster, actor, lab.lenet.id, request)
    dry_run = browser.post(
        "/api/v1/jobs?dry_run=true", json=body_of(lab, request), headers=headers
    ).get_json()
    form = browser.post(f"/trainings/{lab.lenet.id}/jobs/check", data=form_of(request)).get_data(as_text=True)
    sweep = preview_sweep(
        cluster, actor, lab.lenet.id, SweepRequest(replace(request, variables={}), {"epochs": ("2",)})
    )
    job = submission.submit_job(cluster, actor, lab.lenet.id, request)
    settle(cluster, held)

    with cluster.store.read() as session:
        state = session.get_one(Job, job.id).state
    assert preview.starts_now is (state is not JobState.WAITING)
    if preview.explanation is None:
        assert dry_run["waiting"] is None
        return
    now_said = preview.explanation
    why = browser.get(f"/api/v1/jobs/{job.id}/why", headers=headers).get_json()["reason"]
    everything = queries.QueueFilters(limit=500)
    listed = {one.id: one.explanation for one in queries.read_queue(cluster, actor, everything).waiting}
    opened = queries.read_queue(cluster, actor, everything, job.id).opened
    assert opened is not None
    objects = {
        "sweep preview": sweep.first.explanation,
        "dry run": WaitingExplanation(dry_run["waiting"]["code"], dry_run["waiting"]["data"]),
        "why": WaitingExplanation(why["code"], why["data"]),
        "job page": queries.read_waiting_explanation(cluster, job),
        "queue": listed[job.id],
        "opened row": opened.explanation,
    }
    assert objects == dict.fromkeys(objects, now_said)

    sentence = sentence_of(cluster, now_said, language)
    queue = page_text(browser, f"/queue?workspace={lab.workspace.id}&user={lab.seoyeon.id}&open={job.id}")
    pages = {
        "form": plain_text(form),
        "job page": page_text(browser, f"/jobs/{job.id}"),
        "queue": queue if f"job-{job.id} " in queue else sentence,
        "why": sentence_of(cluster, WaitingExplanation(why["code"], why["data"]), language),
    }
    assert {name: sentence in text for name, text in pages.items()} == dict.fromkeys(pages, True), sentence
