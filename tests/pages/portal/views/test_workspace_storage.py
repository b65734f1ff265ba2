"""An administrator limits what a workspace may store, by page and by REST; its home says how much that is."""

import pytest

from cluster.store.workspaces import Workspace
from tests.builders import an_environment
from tests.pages.portal.filled_portal import House

GIB = 1024**3


def limit_of(house: House, workspace_id: int) -> int | None:
    with house.cluster.store.read() as session:
        return session.get_one(Workspace, workspace_id).storage_limit_bytes


def store(house: House, workspace_id: int, size: int) -> None:
    with house.cluster.store.write() as session:
        session.get_one(Workspace, workspace_id).storage_used_bytes = size


def test_the_limit_is_set_and_shown_and_taken_away(house: House) -> None:
    admin, number = house.visitor("administrator"), house.ids["workspace_id"]
    address = f"/workspaces/{number}/storage"
    assert "Not measured yet" in admin.get(f"/workspaces/{number}").text
    assert admin.post(address, data={"limit": "2 GiB"}).status_code == 303
    store(house, number, GIB)
    home = admin.get(f"/workspaces/{number}").text
    assert "1.0 GiB of 2.0 GiB stored" in home and "Full:" not in home
    assert 'value="2 GiB"' in admin.get(address).text
    store(house, number, 2 * GIB)
    member = house.visitor("manager").get(f"/workspaces/{number}").text
    assert "Full: uploads and new jobs are refused," in member and "Change the limit" not in member
    assert admin.post(address, data={"limit": ""}).status_code == 303
    assert limit_of(house, number) is None


@pytest.mark.parametrize("text", ["much", "-5 GiB", "5 B"])
def test_a_slip_is_shown_beside_the_field(house: House, text: str) -> None:
    admin, number = house.visitor("administrator"), house.ids["workspace_id"]
    answer = admin.post(f"/workspaces/{number}/storage", data={"limit": text})
    assert answer.status_code == 422 and f'value="{text}"' in answer.text
    assert limit_of(house, number) is None


def test_a_manager_is_refused(house: House) -> None:
    manager, number = house.visitor("manager"), house.ids["workspace_id"]
    assert manager.get(f"/workspaces/{number}/storage").status_code == 403
    assert manager.post(f"/workspaces/{number}/storage", data={"limit": "9 GiB"}).status_code == 403


def test_the_home_of_a_full_workspace_names_the_environments_that_count(house: House) -> None:
    number = house.ids["workspace_id"]
    store(house, number, 4 * GIB)
    with house.cluster.store.write() as session:
        workspace = session.get_one(Workspace, number)
        workspace.storage_limit_bytes = 4 * GIB
    assert "are environments:" not in house.visitor("manager").get(f"/workspaces/{number}").text
    made = an_environment(
        house.cluster, "torch-of-vision", [workspace], size_bytes=3 * GIB, created_by=workspace.manager_id
    )
    shown = house.visitor("manager").get(f"/workspaces/{number}").text
    assert "Of it 3.0 GiB are environments:" in shown
    assert f'<a class="name" href="/environments/{made.id}">torch-of-vision</a>' in shown
