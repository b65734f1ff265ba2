"""Workspaces are made, listed and extended by their pages."""

import re
from datetime import timedelta

import pytest

from cluster.services.workspaces import lifecycle
from tests.audit_entries import actions
from tests.pages.portal.filled_portal import House


def test_a_workspace_lives_from_new_to_extended(house: House) -> None:
    admin = house.visitor("administrator")
    fields = {
        "name": "speech", "description": "음성", "units": "1", "starts_on": "2026-11-20",
        "ends_on": "2026-11-22", "manager": "jisoo", "members": "taeho",
    }  # fmt: skip
    made = admin.post("/workspaces/new", data=fields)
    assert made.status_code == 303
    home = made.location
    assert house.visitor("stranger").get(home).status_code == 200, "taeho is a member now"
    assert "ends in 2 days" in admin.get("/").text
    confirm = admin.get(f"{home}/end").text
    assert "Nothing has been done yet" in confirm and "2026-11-22" in confirm
    assert house.visitor("manager").post(f"{home}/end").status_code == 303
    page = house.visitor("stranger").get(home).text
    assert "This workspace has ended" in page and "Expired" in page
    assert "speech" in admin.get("/workspaces?state=expired").text
    assert "speech" not in admin.get("/workspaces?state=active").text.split('id="workspaces"')[1]
    assert admin.post(f"{home}/extend", data={"ends_on": "2026-12-31"}).status_code == 303
    assert "This workspace has ended" not in admin.get(home).text
    assert {"workspace.created", "workspace.ended", "workspace.extended"} <= set(actions(house.cluster))


@pytest.mark.parametrize(
    ("members", "next_step"), [("", "Add a person"), ("jisoo", "Add a person"), ("taeho", "Add a dataset")]
)
def test_whoever_works_alone_in_a_new_workspace_is_led_to_the_others(
    house: House, members: str, next_step: str
) -> None:
    admin = house.visitor("administrator")
    fields = {
        "name": "speech", "description": "", "units": "1", "starts_on": "2026-11-20",
        "ends_on": "2026-11-22", "manager": "jisoo", "members": members,
    }  # fmt: skip
    page = admin.post("/workspaces/new", data=fields, follow_redirects=True).text
    assert f">{next_step}</a>" in page.partition('role="status"')[2].partition("</div>")[0]
    number = re.search(r'data-fact="workspace:(\d+):members"', page)
    assert number
    invites = f"/users/new?workspaces={number[1]}"
    assert f'href="{invites}">Add a person</a>' in page.partition("People")[2]
    assert f'value="{number[1]}" checked' in admin.get(invites).text


def test_many_workspaces_are_listed_by_state_then_name(house: House) -> None:
    manager = house.people["manager"]
    day = lifecycle.local_today(house.cluster)
    for name, first in (("aaa", 5), ("zzz", 0)):
        term = day + timedelta(days=first), day + timedelta(days=9)
        lifecycle.create_workspace(
            house.cluster, house.actor("administrator"), name, "", *term, 0, manager.name
        )
    page = house.visitor("manager").get("/workspaces").text
    table = page.split('id="workspaces"')[1]
    assert table.index(">vision-lab<") < table.index(">zzz<") < table.index(">aaa<")
