"""Two administrators have the same forecast open and click at the same moment: one repair runs, by real Ansible."""

import re
from functools import partial

from flask import Flask
from flask.testing import FlaskClient

from cluster.domain.repairs.run_matrix import RepairVerdict
from cluster.services.people import sessions
from cluster.services.repairs import repair_runs
from portal import create_app
from tests.builders import an_administrator
from tests.integration.worker.tasks.test_repairs import Garage
from tests.integration.worker.tasks.test_repairs import garage as garage
from tests.simultaneous_calls import at_once

PAGE = "/repairs/verify-access-log"


def signed_in(garage: Garage, app: Flask, name: str) -> FlaskClient:
    browser = app.test_client()
    person = an_administrator(garage.cluster, name)
    token = sessions.begin_session(garage.cluster, person.id, "192.0.2.1", "a test")
    browser.set_cookie(f"gc_session_{garage.cluster.settings.port}", token)
    browser.set_cookie("gc_language", "en")
    return browser


def seen_etag(browser: FlaskClient) -> str:
    found = re.search('name="etag" value="(.*?)"', browser.get(PAGE).text)
    assert found is not None
    return found[1]


def test_of_two_who_click_at_once_one_runs_and_the_other_hears_who_and_since_when(garage: Garage) -> None:
    app = create_app(garage.cluster, testing=True)
    people = {name: signed_in(garage, app, name) for name in ("hjkim", "jisoo")}
    forms = {name: {"etag": seen_etag(browser), "reason": f"by {name}"} for name, browser in people.items()}
    answers: dict[int, tuple[str, str]] = {}

    def click(name: str) -> None:
        answer = people[name].post(PAGE, data=forms[name])
        answers[answer.status_code] = (name, answer.text)

    at_once(*[partial(click, name) for name in people])
    assert set(answers) == {303, 409}, answers
    (run,) = repair_runs.list_repair_runs(garage.cluster, garage.chief)
    (first, _), (second, told) = answers[303], answers[409]
    since = run.requested_at.astimezone(garage.cluster.settings.zone)
    asked = f"Repair {run.id} runs on lab-a: {first} asked for it at {since:%H:%M}"
    assert (run.who, run.reason) == (first, f"by {first}")
    assert asked in told and 'name="reason"' not in told
    assert garage.work(run).verdict is RepairVerdict.VERIFIED
    assert asked not in people[second].get(PAGE).text
    assert people[second].post(PAGE, data=forms[second]).status_code == 303
