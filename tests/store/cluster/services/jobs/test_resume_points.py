"""The checkpoint of an ended job is found by its attempts, newest first, or by its key."""

import json

import pytest

from cluster.domain.jobs.resume_points import ResumePoint
from cluster.services.context import Cluster
from cluster.services.jobs import resume_points
from cluster.services.storage import folders


@pytest.fixture
def job(cluster: Cluster) -> int:
    for attempt, epoch in ((1, 5), (2, 3)):
        folder = folders.attempt_folder(cluster.settings, 1, 7, attempt) / "out/checkpoints"
        folder.mkdir(parents=True)
        (folder / f"epoch-{epoch}.pt").write_bytes(b"w")
        (folder / f"epoch-{epoch}.json").write_text(json.dumps({"epoch": epoch, "step": 1}))
    return 7


@pytest.mark.parametrize(("last", "key"), [(3, "2/epoch-3.pt"), (2, "2/epoch-3.pt"), (1, "1/epoch-5.pt")])
def test_the_newest_attempt_with_a_checkpoint_counts(cluster: Cluster, job: int, last: int, key: str) -> None:
    point = resume_points.find_resume_point(cluster.settings, 1, job, last)
    assert point is not None and point.key == key
    assert resume_points.of_other_job(point, job) == ResumePoint(
        point.attempt, point.file, point.epoch, 1, job
    )


@pytest.mark.parametrize(
    ("key", "epoch"), [("1/epoch-5.pt", 5), ("2/epoch-5.pt", None), ("../x", None), (None, None)]
)
def test_a_key_names_one_checkpoint(cluster: Cluster, job: int, key: str | None, epoch: int | None) -> None:
    point = resume_points.find_named_resume_point(cluster.settings, 1, job, key)
    assert (point.epoch if point else None) == epoch
