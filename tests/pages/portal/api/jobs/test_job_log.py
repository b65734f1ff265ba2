"""REST reads one log of a job from any byte on."""

from cluster.services.storage import folders
from tests.builders import a_job
from tests.pages.portal.rest_lab import Lab


def test_a_log_is_read_by_byte_offset(lab: Lab) -> None:
    job = a_job(lab.cluster, lab.training, lab.member).id
    folder = folders.attempt_folder(lab.cluster.settings, lab.workspace.id, job, 0) / "out"
    folder.mkdir(parents=True)
    (folder / "rank-0.stdout").write_bytes("하나\ntwo\n".encode())
    headers = lab.headers()
    path = f"/api/v1/jobs/{job}/log"
    answer = lab.client.get(f"{path}?offset=0", headers=headers)
    assert answer.data.decode() == "하나\ntwo\n"
    assert answer.headers["X-Log-Next"] == answer.headers["X-Log-Size"] == "11"
    assert lab.client.get(f"{path}?offset=7", headers=headers).data == b"two\n"
    assert lab.client.get(f"{path}?source=rank-3", headers=headers).headers["X-Log-Size"] == "0"
    assert lab.client.get(f"{path}?source=../x", headers=headers).status_code == 422
    assert lab.client.get(f"{path}?attempt=7", headers=headers).status_code == 404
