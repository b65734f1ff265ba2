"""Nodes and workspaces are listed over REST, in the caller's language."""

from tests.builders import an_administrator
from tests.pages.portal.rest_lab import Lab


def test_nodes_and_workspaces_are_listed(lab: Lab) -> None:
    headers = {**lab.headers(), "Accept-Language": "ko"}
    node = lab.client.get("/api/v1/nodes", headers=headers).json["items"][0]
    assert (node["name"], node["units"], node["units_free"], node["unit_kind"]) == ("gpu01", 2, 2, "cpu_slot")
    workspace = lab.client.get("/api/v1/workspaces", headers=headers).json["items"][0]
    assert (workspace["name"], workspace["state"], workspace["units_in_use"]) == ("vision", "active", 0)
    assert (workspace["state_word"], workspace["manager"]) == ("사용 중", lab.workspace.manager.name)


def test_an_administrator_limits_the_storage(lab: Lab) -> None:
    address = f"/api/v1/workspaces/{lab.workspace.id}/storage-limit"
    assert lab.client.post(address, json={"limit_bytes": 2**31}, headers=lab.headers()).status_code == 403
    chief = lab.headers(an_administrator(lab.cluster))
    limited = lab.client.post(address, json={"limit_bytes": 2**31}, headers=chief)
    assert limited.json == {
        "workspace": "vision", "limit_bytes": 2**31, "used_bytes": None, "measured_at": None,
    }  # fmt: skip
    (listed,) = lab.client.get("/api/v1/workspaces", headers=lab.headers()).json["items"]
    assert (listed["storage_limit_bytes"], listed["storage_used_bytes"]) == (2**31, None)
    refused = lab.client.post(address, json={"limit_bytes": 5}, headers=chief)
    assert (refused.status_code, refused.json["errors"][0]["pointer"]) == (422, "/limit_bytes")
    assert lab.client.post(address, json={"limit_bytes": None}, headers=chief).json["limit_bytes"] is None
