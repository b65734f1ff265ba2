"""Numbers in an address that no row can have: PostgreSQL would refuse to look for them."""

import pytest

from cluster.services.context import Cluster
from cluster.services.people import sessions
from portal import create_app
from tests.builders import a_training, a_workspace, an_administrator

TOO_LARGE = "999999999999"


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
def test_a_number_larger_than_any_id_finds_nothing(cluster: Cluster) -> None:
    person = an_administrator(cluster)
    training = a_training(cluster, a_workspace(cluster, person), person)
    browser = create_app(cluster, testing=True).test_client()
    session = sessions.begin_session(cluster, person.id, "127.0.0.1", "Firefox/140")
    browser.set_cookie(f"gc_session_{cluster.settings.port}", session)
    pages = {
        "/jobs": ("workspace", "training", "user", "sweep", "before"),
        "/queue": ("workspace", "user", "front", "open"),
        "/accounting": ("workspace",),
    }
    for page, names in pages.items():
        for name in names:
            assert browser.get(f"{page}?{name}={TOO_LARGE}").status_code in (200, 404), (page, name)
    path = f"/trainings/{training.id}/jobs"
    assert browser.get(f"{path}/new?before={TOO_LARGE}").status_code == 404
    form = {"name": "lenet", "units": "1", "dataset": TOO_LARGE}
    assert browser.post(f"{path}/new", data=form).status_code == 422
