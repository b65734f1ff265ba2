"""Each person chooses for themselves; the audit names the choice and no secret."""

from dataclasses import replace

import pytest
from sqlalchemy import select

from cluster.domain.errors import Forbidden, Refused
from cluster.domain.states import NotificationKind
from cluster.services.context import Cluster
from cluster.services.notifications.choices import find_webhook, read_choices, set_choices
from cluster.store.audit import AuditEntry
from tests.builders import a_user, actor_of
from tests.notification_lab import HOOK, choose, with_channels


@pytest.fixture
def lab(cluster: Cluster) -> Cluster:
    return with_channels(cluster)


def test_choices_are_kept_and_changed(lab: Cluster) -> None:
    minji = a_user(lab, "minji")
    actor = actor_of(minji)
    assert read_choices(lab, actor).choices.kinds == frozenset()
    kept = set_choices(lab, actor, ["job_failed"], 12, HOOK, " minji@lab.example ")
    assert (kept.email, kept.choices.wait_hours, kept.choices.webhook_url) == ("minji@lab.example", 12, HOOK)
    assert kept.choices.kinds == {NotificationKind.JOB_FAILED}
    again = set_choices(lab, actor, ["job_ended"], 12, HOOK, "minji@lab.example")
    assert again.webhook_secret == kept.webhook_secret
    other = set_choices(lab, actor, ["job_ended"], 12, f"{HOOK}2", "")
    assert other.email == "" and other.webhook_secret not in ("", kept.webhook_secret)
    assert set_choices(lab, actor, [], 12, "", "").webhook_secret == ""


def test_the_audit_names_the_host_and_nothing_else_of_the_webhook(lab: Cluster) -> None:
    actor = actor_of(a_user(lab, "minji"))
    set_choices(lab, actor, ["job_failed"], 4, HOOK, "minji@lab.example")
    set_choices(lab, actor, ["job_failed"], 4, HOOK, "minji@lab.example")
    with lab.store.read() as session:
        entries = session.scalars(select(AuditEntry).order_by(AuditEntry.id)).all()
    assert [entry.action for entry in entries] == ["user.mail_set", "user.notifications_set"]
    assert entries[1].data == {"kinds": ["job_failed"], "wait_hours": 4, "webhook_host": "chat.lab.example"}


def test_a_token_changes_choices_and_no_address(lab: Cluster) -> None:
    minji = a_user(lab, "minji")
    choose(lab, minji, [])
    token = actor_of(minji, scopes=frozenset({"read", "write"}))
    assert set_choices(lab, token, ["job_ended"], 4, "").email == "minji@lab.example"
    with pytest.raises(Forbidden):
        set_choices(lab, token, ["job_ended"], 4, "", "thief@elsewhere.example")
    assert read_choices(lab, token).email == "minji@lab.example"


def test_a_refused_choice_changes_nothing(lab: Cluster) -> None:
    minji = a_user(lab, "minji")
    choose(lab, minji, ["job_ended"])
    for kinds, hours, url, email in [
        (["job_begun"], 4, "", "a@b.example"),
        ([], 5, "", "a@b.example"),
        ([], 4, "https://elsewhere.example/", "a@b.example"),
        ([], 4, "", "a b@example"),
    ]:
        with pytest.raises(Refused):
            set_choices(lab, actor_of(minji), kinds, hours, url, email)
    kept = read_choices(lab, actor_of(minji))
    assert (kept.email, kept.choices.kinds) == ("minji@lab.example", {NotificationKind.JOB_ENDED})


def test_a_host_that_is_not_allowed_any_more_is_not_called(lab: Cluster) -> None:
    minji = a_user(lab, "minji")
    choose(lab, minji, [], webhook=HOOK)
    assert find_webhook(lab, minji.id) is not None
    less = replace(lab, settings=replace(lab.settings, webhook_hosts=("other.example",)))
    assert find_webhook(less, minji.id) is None
