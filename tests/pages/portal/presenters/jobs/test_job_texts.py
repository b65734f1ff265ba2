"""A job is summed up in one sentence."""

from cluster.domain.states import JobState
from cluster.store.trainings import Training
from tests.builders import a_job
from tests.pages.portal.filled_portal import House


def test_a_waiting_job_is_told_in_a_sentence(house: House) -> None:
    with house.cluster.store.read() as session:
        training = session.get_one(Training, house.ids["public_training_id"])
    by = house.people["manager"]
    a_job(
        house.cluster, training, house.people["owner"], 4, JobState.WAITING,
        held_at=house.cluster.clock(), held_by=by.id,
    )  # fmt: skip
    assert f"Held by {by.name} since" in house.visitor("owner").get("/").text
    korean = house.visitor("member").get("/workspaces/1", headers={"Accept-Language": "ko"}).text
    assert by.name in korean and "보류" in korean
