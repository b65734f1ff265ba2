"""What a person may choose."""

import pytest

from cluster.domain.errors import Refused
from cluster.domain.notifications.choices import NotificationChoices, check_choices
from cluster.domain.states import NotificationKind

HOSTS = ("chat.lab.example",)
URL = "https://chat.lab.example/in"


def test_choices_are_kept_as_they_were_made() -> None:
    kept = check_choices(["job_failed", "term_ends"], 12, f" {URL} ", HOSTS)
    assert kept == NotificationChoices(
        frozenset({NotificationKind.JOB_FAILED, NotificationKind.TERM_ENDS}), 12, URL
    )
    assert check_choices([], 4, "", ()) == NotificationChoices()


@pytest.mark.parametrize(
    ("kinds", "wait_hours", "url", "hosts", "field", "code"),
    [
        (["job_begun"], 4, "", HOSTS, "kinds", "notification.kind_unknown"),
        ([], 3, "", HOSTS, "wait_hours", "value.not_a_choice"),
        ([], 0, "", HOSTS, "wait_hours", "value.not_a_choice"),
        ([], 4, "https://other.example/in", HOSTS, "webhook_url", "notification.webhook_host"),
        ([], 4, URL, (), "webhook_url", "notification.webhook_host"),
        ([], 4, "in", HOSTS, "webhook_url", "notification.webhook_unusable"),
    ],
)
def test_other_choices_are_refused(
    kinds: list[str], wait_hours: int, url: str, hosts: tuple[str, ...], field: str, code: str
) -> None:
    with pytest.raises(Refused) as refused:
        check_choices(kinds, wait_hours, url, hosts)
    assert (refused.value.field, refused.value.code) == (field, code)
