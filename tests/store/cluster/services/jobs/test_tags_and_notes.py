"""Tags and notes of several jobs are written together, and each change is audited."""

import pytest

from cluster.domain.errors import Refused
from cluster.services.context import Cluster
from cluster.services.jobs import queries, tags_and_notes
from tests.builders import a_job
from tests.store.conftest import job_of
from tests.store.job_setup import Lab, a_lab, audited_ids


@pytest.fixture
def lab(cluster: Cluster) -> Lab:
    return a_lab(cluster)


def test_tags_are_added_and_removed_and_only_changes_are_audited_ids(cluster: Cluster, lab: Lab) -> None:
    first, second = (a_job(cluster, lab.training, lab.member) for _ in range(2))
    ids = [first.id, second.id]
    assert tags_and_notes.change_tags(cluster, lab.actor, ids, ["Keep", "b"]) == dict.fromkeys(
        ids, ["b", "keep"]
    )
    tags_and_notes.change_tags(cluster, lab.actor, [second.id], ["c"], ["b", "unknown"])
    tags_and_notes.change_tags(cluster, lab.actor, [second.id], ["c"])
    lines = {job.id: job.tags for job in queries.list_jobs(cluster, lab.actor)}
    assert lines == {first.id: ("b", "keep"), second.id: ("c", "keep")}
    assert audited_ids(cluster, "job.tagged") == [first.id, second.id, second.id]
    with pytest.raises(Refused):
        tags_and_notes.change_tags(cluster, lab.actor, ids, [f"t{number}" for number in range(9)])


def test_a_note_is_replaced_and_removed(cluster: Cluster, lab: Lab) -> None:
    job = a_job(cluster, lab.training, lab.member)
    tags_and_notes.write_note(cluster, lab.actor, [job.id], " the one\nof the paper ")
    assert job_of(cluster, job).note == "the one of the paper"
    tags_and_notes.write_note(cluster, lab.actor, [job.id], "")
    assert job_of(cluster, job).note is None
    assert audited_ids(cluster, "job.noted") == [job.id, job.id]
