"""Nodes and workspaces are listed over REST, in the caller's language."""

from tests.pages.portal.rest_lab import Lab


def test_nodes_and_workspaces_are_listed(lab: Lab) -> None:
    headers = {**lab.headers(), "Accept-Language": "ko"}
    node = lab.client.get("/api/v1/nodes", headers=headers).json["items"][0]
    assert (node["name"], node["units"], node["units_free"], node["unit_kind"]) == ("gpu01", 2, 2, "cpu_slot")
    workspace = lab.client.get("/api/v1/workspaces", headers=headers).json["items"][0]
    assert (workspace["name"], workspace["state"], workspace["units_in_use"]) == ("vision", "active", 0)
    assert (workspace["state_word"], workspace["manager"]) == ("사용 중", lab.workspace.manager.name)
