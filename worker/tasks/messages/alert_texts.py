"""Writes alerts as a mail to each person and as the body of a webhook call, without secrets."""

from collections.abc import Iterable, Sequence
from typing import Any
from zoneinfo import ZoneInfo

from cluster import words
from cluster.portal_paths import PROFILE
from cluster.services.context import Cluster
from cluster.store.alerts import AlertOccurrence
from worker.tasks.messages.personal_texts import LANGUAGES, redact_secrets, sentence_with_details


def webhook_body(cluster: Cluster, number: int, occurrence: AlertOccurrence) -> dict[str, Any]:
    """The data for programs, and the sentences for a person."""
    alert = occurrence.alert
    return {
        "id": number,
        "code": alert["code"],
        "urgency": alert["urgency"],
        "since": occurrence.began_at.isoformat(),
        "text": {
            language: redact_secrets(cluster, occurrence_text(cluster, occurrence, language))
            for language in LANGUAGES
        },
        "url": cluster.settings.public_url + alert["path"],
    }


def compose_mail(
    cluster: Cluster,
    name: str,
    language: str | None,
    occurrences: Sequence[AlertOccurrence],
    zone: ZoneInfo | None = None,
) -> tuple[str, str]:
    """Subject and text; in both languages for a person who has chosen none. Times are in `zone`, else the
    installation's.
    """
    zone = zone or cluster.settings.zone
    chosen = (language,) if language in LANGUAGES else LANGUAGES
    things = {"things": len(occurrences)}
    subject = " / ".join(words.sentence("mail.subject", things, each) for each in chosen)
    parts = ["\n".join(mail_lines(cluster, name, each, occurrences, zone)) for each in chosen]
    return f"[Groundcrew] {subject}", redact_secrets(cluster, "\n\n--\n\n".join(parts) + "\n")


def mail_lines(
    cluster: Cluster, name: str, language: str, occurrences: Iterable[AlertOccurrence], zone: ZoneInfo
) -> Iterable[str]:
    public = cluster.settings.public_url
    yield words.sentence("mail.greeting", {"name": name}, language)
    for occurrence in occurrences:
        yield ""
        yield f"* {occurrence_text(cluster, occurrence, language, zone)}"
        yield f"  {public}{occurrence.alert['path']}"
    yield ""
    yield words.sentence("notification.zone", {"zone": zone.key}, language)
    yield words.sentence("mail.once", {}, language)
    yield words.sentence("mail.stop", {"url": f"{public}{PROFILE}"}, language)


def occurrence_text(
    cluster: Cluster, occurrence: AlertOccurrence, language: str, zone: ZoneInfo | None = None
) -> str:
    return sentence_with_details(cluster, occurrence.alert, language, zone)
