"""Repairs over REST: a token with that scope alone, and nothing runs that the forecast did not show."""

from typing import Any

import pytest

from tests.builders import a_repair_run, an_administrator
from tests.pages.portal.rest_lab import Lab

HERE = "/api/v1/repairs"


@pytest.fixture
def chief(lab: Lab) -> dict[str, str]:
    return lab.headers(an_administrator(lab.cluster), ("repair",))


def ask(lab: Lab, headers: dict[str, str], **body: Any) -> Any:
    seen = lab.client.get(f"{HERE}/back-up-now", headers=headers).json
    return lab.client.post(
        f"{HERE}/back-up-now", headers=headers, json={"etag": seen["etag"], "reason": "night"} | body
    )


def test_a_repair_is_asked_for_as_its_forecast_said_and_can_be_followed(
    lab: Lab, chief: dict[str, str]
) -> None:
    assert "back-up-now" in [line["name"] for line in lab.client.get(HERE, headers=chief).json["items"]]
    asked = ask(lab, chief)
    assert asked.status_code == 201 and asked.json["verdict"] is None, asked.json
    run = lab.client.get(f"{HERE}/runs/{asked.json['id']}", headers=chief).json
    assert run["reason"] == "night" and [task["hosts"] for task in run["tasks"]] == [{}, {}, {}]
    again = ask(lab, chief)
    assert again.status_code == 409 and again.json["code"] == "repair.under_way"
    ended = lab.client.post(f"{HERE}/runs/{asked.json['id']}/cancel", headers=chief)
    assert ended.status_code == 200


def test_a_run_of_the_console_names_who_sat_there(lab: Lab, chief: dict[str, str]) -> None:
    run = a_repair_run(lab.cluster, an_administrator(lab.cluster), console_user="minji")
    assert lab.client.get(f"{HERE}/runs/{run.id}", headers=chief).json["who"] == "minji"


def test_a_stale_forecast_or_no_reason_runs_nothing(lab: Lab, chief: dict[str, str]) -> None:
    assert ask(lab, chief, etag="old").json["code"] == "repair.forecast_changed"
    assert ask(lab, chief, reason=" ").json["code"] == "repair.reason_missing"


def test_a_token_that_may_write_may_not_repair(lab: Lab) -> None:
    refused = ask(lab, lab.headers(an_administrator(lab.cluster), ("write",)))
    assert (refused.status_code, refused.json["code"]) == (403, "forbidden.scope")
