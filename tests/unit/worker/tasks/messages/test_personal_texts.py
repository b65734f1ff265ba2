"""The subject of a mail is the sentence of its only event."""

import pytest

from cluster.services.context import Cluster
from tests.unit.worker.tasks.messages.test_personal_messages import FAILURE
from worker.tasks.messages.personal_texts import compose_personal_mail


@pytest.mark.parametrize(
    ("left_out", "subject"),
    [(0, "[Groundcrew] job-1042 (mnist) has failed after 2 h 5 min"), (1, "[Groundcrew] 2 messages")],
)
def test_the_subject_of_a_single_event_is_its_sentence(
    light_cluster: Cluster, left_out: int, subject: str
) -> None:
    content = {"kind": "events", "events": [FAILURE], "left_out": left_out}
    assert compose_personal_mail(light_cluster, "en", content)[0] == subject
