"""The files of datasets over REST."""

from cluster.services.storage import folders
from cluster.store.datasets import Dataset
from tests.builders import a_dataset, a_user
from tests.pages.portal.rest_lab import Lab


def with_files(lab: Lab) -> Dataset:
    dataset = a_dataset(lab.cluster, lab.workspace, "pictures")
    folder = folders.dataset_folder(lab.cluster.settings, dataset)
    (folder / "zero").mkdir(parents=True)
    (folder / "zero" / "00.png").write_bytes(b"\x89PNG")
    (folder / "labels.csv").write_text("file,label\n")
    return dataset


def test_members_list_folders_and_fetch_files(lab: Lab) -> None:
    address, member = f"/api/v1/datasets/{with_files(lab).id}/files", lab.headers()
    listed = lab.client.get(address, headers=member).json
    assert listed is not None
    assert [(entry["name"], entry["bytes"]) for entry in listed["entries"]] == [
        ("zero", None),
        ("labels.csv", 11),
    ]
    content = lab.client.get(f"{address}/content?path=zero/00.png", headers=member)
    assert (content.data, content.mimetype) == (b"\x89PNG", "application/octet-stream")
    for path in ("?path=nothing", "?path=labels.csv", "/content", "/content?path=zero", "/content?path=../1"):
        assert lab.client.get(address + path, headers=member).status_code == 404, path


def test_nobody_else_sees_them(lab: Lab) -> None:
    address, stranger = f"/api/v1/datasets/{with_files(lab).id}/files", lab.headers(a_user(lab.cluster))
    for path in ("", "/content?path=labels.csv"):
        assert lab.client.get(address + path, headers=stranger).status_code == 404
