"""A job that has its units and does not begin says why, on its page and over REST, and what comes of it."""

import re
from datetime import timedelta
from typing import Any

import pytest

from cluster.domain.kubernetes.disagreements import Disagreement
from cluster.domain.kubernetes.status import KubernetesNodeStatus, KubernetesStatus
from cluster.domain.states import AttemptState, JobState
from cluster.services.jobs.queries import read_job
from cluster.services.jobs.start_delays import read_start_delay
from cluster.services.kubernetes.status import record_kubernetes_status
from cluster.services.leases import acquire_lease
from cluster.store.jobs import Attempt, Job
from tests.builders import a_job, a_node, actor_of, holding
from tests.pages.portal.pages_lab import Lab

NO_MEMORY = {
    "code": "kubernetes.nodes_refuse",
    "data": {
        "nodes": 3,
        "chosen": ["cpu01"],
        "causes": [
            {"code": "kubernetes.node.too_little", "data": {"nodes": 1, "what": "memory", "needed": 2**34}}
        ],
    },
}
NO_WORDS = {
    "code": "kubernetes.no_words",
    "data": {"speaker": "kubelet", "word": "Moon", "said": "it shines"},
}


def a_starting_job(lab: Lab, gang: bool = False) -> Job:
    others = a_node(lab.cluster, 1, name="cpu02").units if gang else []
    job = a_job(lab.cluster, lab.lenet, state=JobState.STARTING, fence=1, units=1 + len(others))
    attempt = holding(lab.cluster, job, [*lab.free_units()[:1], *others])
    with lab.cluster.store.write() as session:
        row = session.get_one(Attempt, attempt.id)
        row.state, row.started_at = AttemptState.STARTING, None
    return job


def stand(lab: Lab, *told: Disagreement, **more: Any) -> None:
    held = acquire_lease(lab.cluster, "scheduler", "one", timedelta(days=1))
    assert held
    nodes = (KubernetesNodeStatus("cpu01", True, True), KubernetesNodeStatus("cpu02", True, True))
    record_kubernetes_status(
        lab.cluster, held, KubernetesStatus(lab.cluster.clock(), nodes, disagreements=told, **more)
    )


def refused(job: Job, why: dict[str, Any], attempt: int = 1) -> Disagreement:
    data = {"job": f"job-{job.id}", "job_id": job.id, "attempt": attempt, "why": why}
    return Disagreement("disagreement.refused", f"job-{job.id}", data=data)


@pytest.mark.parametrize(
    ("language", "sentence", "fate"),
    [
        (
            "en",
            "Kubernetes does not start it on cpu01, where the queue has placed it: too little free memory on "
            "1 node for the 16.0 GiB that it asks for.",
            "it has failed",
        ),
        (
            "ko",
            "대기열이 배치한 cpu01에서 Kubernetes가 시작하지 않습니다: 노드 1대에 빈 메모리 부족(16.0 GiB 필요).",
            "시작하지 못하면 실패합니다",
        ),
    ],
)
def test_its_page_says_what_keeps_it_and_until_when(
    lab: Lab, language: str, sentence: str, fate: str
) -> None:
    job = a_starting_job(lab)
    stand(lab, refused(job, NO_MEMORY))
    page = lab.browser(lab.seoyeon, language).get(f"/jobs/{job.id}").text
    assert sentence in page and fate in page
    assert "14:15" in page, "a quarter of an hour from 14:00 of the tests' clock"


def test_rest_says_the_same(lab: Lab) -> None:
    job = a_starting_job(lab)
    stand(lab, refused(job, NO_MEMORY))
    answer = lab.browser(lab.seoyeon).get(f"/api/v1/jobs/{job.id}/why").json
    assert answer["reason"]["code"] == "kubernetes.nodes_refuse"
    assert "16.0 GiB" in answer["reason"]["sentence"]


def test_a_gang_is_told_that_it_waits_again(lab: Lab) -> None:
    job = a_starting_job(lab, gang=True)
    stand(lab, refused(job, NO_MEMORY))
    assert "gives its units back and waits again" in lab.browser(lab.seoyeon).get(f"/jobs/{job.id}").text


def test_what_we_have_no_words_for_is_for_administrators(lab: Lab) -> None:
    job = a_starting_job(lab)
    stand(lab, refused(job, NO_WORDS))
    for path in (f"/jobs/{job.id}", f"/api/v1/jobs/{job.id}/why"):
        seen = lab.browser(lab.seoyeon).get(path).text
        assert "Moon" in seen and "it shines" not in seen
    assert "it shines" in lab.browser(lab.administrator).get(f"/jobs/{job.id}").text


def test_while_kubernetes_is_silent_no_time_runs(lab: Lab) -> None:
    job = a_starting_job(lab)
    stand(lab, refused(job, NO_MEMORY), silent_since=lab.cluster.clock())
    page = re.sub(r"</?time\b[^>]*>", "", lab.browser(lab.seoyeon).get(f"/jobs/{job.id}").text)
    assert "Kubernetes has not answered since 14:00" in page and "it has failed" not in page


@pytest.mark.parametrize("state", [JobState.WAITING, JobState.RUNNING])
def test_who_does_not_start_is_told_nothing(lab: Lab, state: JobState) -> None:
    job = a_starting_job(lab)
    stand(lab, refused(job, NO_MEMORY))
    with lab.cluster.store.write() as session:
        session.get_one(Job, job.id).state = state
    assert read_start_delay(lab.cluster, read_job(lab.cluster, actor_of(lab.seoyeon), job.id)) is None


def test_what_kept_an_earlier_attempt_is_over(lab: Lab) -> None:
    job = a_starting_job(lab)
    stand(lab, refused(job, NO_MEMORY, attempt=7))
    assert read_start_delay(lab.cluster, read_job(lab.cluster, actor_of(lab.seoyeon), job.id)) is None
    stand(lab)
    assert "Why it has not begun" not in lab.browser(lab.seoyeon).get(f"/jobs/{job.id}").text
