"""Composes people's own messages: a mail in their language, or the body of a call to their webhook."""

from collections.abc import Iterator, Mapping
from typing import Any
from zoneinfo import ZoneInfo

from cluster import words
from cluster.domain.people.time_zones import reader_zone
from cluster.portal_paths import PROFILE
from cluster.redaction import redact_text
from cluster.services.context import Cluster
from cluster.services.notifications.invitation_mails import INVITATION, invitation_url
from cluster.store.alerts import Notification

TEST = "test"


LANGUAGES = ("ko", "en")


def content_of(notification: Notification) -> Mapping[str, Any]:
    return notification.content or {"kind": TEST, "events": [], "left_out": 0}


def compose_personal_mail(
    cluster: Cluster, language: str | None, content: Mapping[str, Any], zone: ZoneInfo | None = None
) -> tuple[str, str]:
    """Subject and text; in both languages for a person who has chosen none. Times are in `zone`, else the
    installation's.
    """
    zone = zone or cluster.settings.zone
    chosen = (language,) if language in LANGUAGES else LANGUAGES
    subject = " / ".join(subject_of(cluster, content, each, zone) for each in chosen)
    parts = ["\n".join(mail_lines(cluster, content, each, zone)) for each in chosen]
    text = "\n\n--\n\n".join(parts) + "\n"
    # An invitation quotes no program, and its link is a secret that this person is to have.
    shown = text if content["kind"] == INVITATION else redact_secrets(cluster, text)
    return f"[Groundcrew] {subject}", shown


def subject_of(cluster: Cluster, content: Mapping[str, Any], language: str, zone: ZoneInfo) -> str:
    """The sentence of a single event without its details, which may be long."""
    events = content["events"]
    if content["kind"] == TEST:
        return words.sentence("notification.test_subject", {}, language)
    if content["kind"] == INVITATION:
        return words.sentence("notification.invitation_subject", {}, language)
    if len(events) == 1 and not content["left_out"]:
        return sentence_with_details(cluster, events[0] | {"details": []}, language, zone)
    return words.sentence("notification.digest", {"things": len(events) + content["left_out"]}, language)


def mail_lines(cluster: Cluster, content: Mapping[str, Any], language: str, zone: ZoneInfo) -> Iterator[str]:
    public = cluster.settings.public_url
    if content["kind"] == INVITATION:
        yield from invitation_lines(cluster, content, language, zone)
        return
    if content["kind"] == TEST:
        yield words.sentence("notification.test", {}, language)
    for event in content["events"]:
        yield f"* {sentence_with_details(cluster, event, language, zone)}"
        yield f"  {public}{event['path']}"
    if content["left_out"]:
        yield words.sentence("notification.left_out", {"things": content["left_out"]}, language)
    yield ""
    if content["events"]:
        yield words.sentence("notification.zone", {"zone": zone.key}, language)
    yield words.sentence("notification.chosen", {"url": f"{public}{PROFILE}"}, language)


def invitation_lines(
    cluster: Cluster, content: Mapping[str, Any], language: str, zone: ZoneInfo
) -> Iterator[str]:
    yield words.sentence("notification.invitation", {"by": content["by"], "name": content["name"]}, language)
    yield ""
    yield invitation_url(cluster, content) or ""
    yield ""
    term = {"until": content["expires_at"], "zone": zone.key}
    yield words.sentence("notification.invitation_term", term, language, zone, cluster.clock())


def personal_webhook_body(
    cluster: Cluster, notification: Notification, language: str | None
) -> dict[str, Any]:
    """`text` is what chat servers show of a call; the events are for programs."""
    content = content_of(notification)
    chosen = notification.user.time_zone if notification.user else None
    zone = reader_zone(chosen, cluster.settings.zone)
    _subject, text = compose_personal_mail(cluster, language, content, zone)
    public = cluster.settings.public_url
    return {
        "id": notification.id,
        "text": text,
        "events": [
            {"kind": event["kind"], "code": event["code"], "url": f"{public}{event['path']}"}
            for event in content["events"]
        ],
        "left_out": content["left_out"],
    }


def sentence_with_details(
    cluster: Cluster, event: Mapping[str, Any], language: str, zone: ZoneInfo | None = None
) -> str:
    """`event` has `code`, `data` and `details`. Times are in `zone`, else the installation's."""
    zone, now = zone or cluster.settings.zone, cluster.clock()
    parts = [words.sentence(event["code"], event["data"], language, zone, now)]
    parts += [words.sentence(code, data, language, zone, now) for code, data in event["details"]]
    return " · ".join(parts)


def redact_secrets(cluster: Cluster, text: str) -> str:
    """Redacts secrets, because reasons of failures quote programs, and programs quote their input."""
    settings = cluster.settings
    secrets = (settings.secret_key, settings.audit_key, settings.metrics_token, settings.webhook_secret)
    return redact_text(text, [secret for secret in secrets if secret])
