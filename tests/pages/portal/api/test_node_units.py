"""All units over REST."""

from cluster.domain.states import UnitKind
from tests.builders import a_node
from tests.pages.portal.rest_lab import Lab


def test_units_say_what_gpus_do(lab: Lab) -> None:
    a_node(lab.cluster, 1, name="gpu02", kind=UnitKind.GPU)
    answer = lab.client.get("/api/v1/nodes/units", headers=lab.headers()).json
    assert answer is not None
    slot, _, gpu = answer["items"]
    assert (slot["node"], slot["kind"], slot["utilisation"]) == ("gpu01", "cpu_slot", None)
    assert (gpu["node"], gpu["position"], gpu["kind"], gpu["state"], gpu["job_id"]) == (
        "gpu02",
        0,
        "gpu",
        "ok",
        None,
    )
