"""Two administrators at two browsers have the same forecast open on a host, and click at once."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.journey import PASSWORD
from tests.browser.repair_pages import RUN, RepairPages, pages_of_repairs
from tests.hosts.appliance.repair_scenarios import SHOWN_WITHIN, UNDER_WAY, Mender, ask_rows, in_python, query
from tests.hosts.appliance.test_repairs import host as host
from tests.hosts.appliance.test_repairs import mender as mender

pytestmark = pytest.mark.long

OTHER = "night-shift"
MAKE_OTHER = f"""
from sqlalchemy import select
from cluster.domain.people.actor import Actor
from cluster.domain.states import UserRole
from cluster.services.people import passwords, users
from cluster.settings import Settings
from cluster.store.users import User
from worker.composition import open_cluster
cluster = open_cluster(Settings.from_environment())
with cluster.store.read() as session:
    known = dict(session.execute(select(User.name, User.id)).all())
if "{OTHER}" not in known:
    made, link = users.create_user(cluster, Actor(known["ops"], "ops", True), "{OTHER}", "", UserRole.ADMINISTRATOR)
    passwords.use_password_link(cluster, link, "{PASSWORD}")
print("there")
"""
REPAIR = "restart-worker-agent"
CLICK_IN_A_MOMENT = "button => { setTimeout(() => button.click()); }"
"""Nobody waits for the first answer before the second click."""
MENDED_WITHIN = 300
"""Seconds."""


@pytest.fixture(scope="module")
def both(mender: Mender, browser: Browser) -> Iterator[dict[str, RepairPages]]:
    in_python(mender.host, MAKE_OTHER)
    with ExitStack() as stack:
        yield {
            name: stack.enter_context(pages_of_repairs(browser, mender.url, name)) for name in ("ops", OTHER)
        }


def test_one_repair_runs_and_the_other_page_says_who_asked_and_since_when(
    mender: Mender, both: dict[str, RepairPages]
) -> None:
    host = mender.host
    host.wait_until(f"{ask_rows(UNDER_WAY)} | grep -x 0", MENDED_WITHIN)
    host.ask("systemctl stop groundcrew-repair")
    for name, pages in both.items():
        pages.open_forecast(REPAIR, [host.name])
        pages.page.get_by_label("Reason").fill(f"seen by {name}")
    for pages in both.values():
        pages.page.get_by_role("button", name="Run it").evaluate(CLICK_IN_A_MOMENT)
    for pages in both.values():
        pages.page.wait_for_function(
            "() => /runs/.test(location.pathname) || /asked for it at/.test(document.body.innerText)"
        )
    ((first, ran),) = ((name, pages) for name, pages in both.items() if RUN.search(pages.page.url))
    ((second, told),) = ((name, pages) for name, pages in both.items() if name != first)
    run_id = ran.stay()
    asked = host.ask(query(run_id, "to_char(requested_at at time zone current_setting('TimeZone'), 'MI')"))
    sentence = told.page.get_by_text(f"Repair {run_id} runs on {host.name}: {first} asked for it at")
    expect(sentence.first).to_contain_text(f":{asked}")
    expect(told.page.get_by_role("button", name="Run it")).to_have_count(0)
    assert host.ask(ask_rows(UNDER_WAY)) == "1"
    host.ask("systemctl start groundcrew-repair")
    assert ran.follow(MENDED_WITHIN + SHOWN_WITHIN) == "verified"
    told.page.get_by_role("link", name="Watch it").click()
    assert told.stay() == run_id, second
