"""REST lists and sends what a job's program wrote."""

from flask.testing import FlaskClient

from cluster.services.storage import folders
from cluster.store.nodes import Unit
from tests.builders import a_job, a_user, holding
from tests.pages.portal.rest_lab import Lab


def test_a_folder_is_listed_and_a_file_sent_to_whom_may_see_the_job(lab: Lab) -> None:
    job = a_job(lab.cluster, lab.training, lab.member)
    with lab.cluster.store.read() as session:
        holding(lab.cluster, job, list(session.query(Unit))[:1])
    out = folders.attempt_folder(lab.cluster.settings, lab.workspace.id, job.id, 1) / "out"
    out.mkdir(parents=True)
    (out / "a.csv").write_text("1,2\n")
    (out / "link").symlink_to("/etc/passwd")
    client: FlaskClient = lab.client
    address = f"/api/v1/jobs/{job.id}/files"
    answer = client.get(address, headers=lab.headers()).get_json()
    assert [(entry["name"], entry["bytes"]) for entry in answer["entries"]] == [("a.csv", 4)]
    assert (answer["attempt"], answer["has_more"]) == (1, False)
    assert client.get(f"{address}/content?path=a.csv", headers=lab.headers()).data == b"1,2\n"
    for path in ("link", "..", "none", ""):
        assert client.get(f"{address}/content?path={path}", headers=lab.headers()).status_code == 404
    assert client.get(f"{address}?path=none", headers=lab.headers()).status_code == 404
    assert client.get(f"{address}?attempt=9", headers=lab.headers()).status_code == 404
    stranger = lab.headers(a_user(lab.cluster, "stranger"))
    for refused in (address, f"{address}/content?path=a.csv"):
        assert client.get(refused, headers=stranger).status_code == 404
