"""What the caller is told of is read and chosen over REST; the address of the webhook is not shown."""

from dataclasses import replace

from portal import create_app
from tests.pages.portal.rest_lab import Lab

PATH = "/api/v1/notifications"


def test_choices_are_read_and_replaced(lab: Lab) -> None:
    headers = lab.headers()
    before = lab.client.get(PATH, headers=headers).json
    assert (before["kinds"], before["wait_hours"], before["webhook_host"]) == ([], 4, "")
    typed = {"kinds": ["term_ends", "job_failed"], "wait_hours": 12}
    assert lab.client.put(PATH, headers=headers, json=typed).json["kinds"] == ["job_failed", "term_ends"]
    after = lab.client.get(PATH, headers=headers).json
    assert (after["kinds"], after["wait_hours"]) == (["job_failed", "term_ends"], 12)


def test_what_cannot_be_chosen_is_refused(lab: Lab) -> None:
    for body in (
        {"kinds": ["job_begun"]},
        {"kinds": [], "wait_hours": 5},
        {"kinds": [], "webhook_url": "http://127.0.0.1/"},
        {"kinds": [], "email": "thief@elsewhere.example"},
        {},
    ):
        assert lab.client.put(PATH, headers=lab.headers(), json=body).status_code == 422
    assert lab.client.post(f"{PATH}/test", headers=lab.headers()).status_code == 422


def test_the_webhook_stays_and_is_not_shown(lab: Lab) -> None:
    settings = replace(lab.cluster.settings, webhook_hosts=("chat.lab.example",))
    client = create_app(replace(lab.cluster, settings=settings), testing=True).test_client()
    url = "https://chat.lab.example/in/secret-path"
    body = {"kinds": ["job_ended"], "webhook_url": url}
    assert client.put(PATH, headers=lab.headers(), json=body).json["webhook_host"] == "chat.lab.example"
    kept = client.put(PATH, headers=lab.headers(), json={"kinds": []})
    assert kept.json["webhook_host"] == "chat.lab.example" and "secret-path" not in kept.text
    assert client.post(f"{PATH}/test", headers=lab.headers()).json == {"channels": ["personal_webhook"]}
    gone = client.put(PATH, headers=lab.headers(), json={"kinds": [], "webhook_url": ""})
    assert gone.json["webhook_host"] == ""
