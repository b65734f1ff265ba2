"""Empties the outbox: one mail per person with all that is new, one call per thing for the webhook."""

from collections.abc import Iterable, Sequence
from typing import Any

from cluster import words
from cluster.crash_points import outside
from cluster.domain.errors import Unavailable
from cluster.domain.states import NoticeChannel
from cluster.services.context import Cluster
from cluster.services.notices import channels_of, list_due, may_be_told, record_failure, record_sent
from cluster.services.operations import fail_in, finish_in
from cluster.store.notices import Notice, Occurrence
from cluster.store.operations import Operation
from worker.adapters.mail import send_mail, write_mail
from worker.adapters.webhook import call_webhook
from worker.embedded.redaction import redact
from worker.tasks.reports import Reporter

SEND = "notices_send"
WEIGHTS = {SEND: 1.0}
LANGUAGES = ("ko", "en")


def run_notices(cluster: Cluster, operation: Operation) -> None:
    """May run twice: what was taken is not due any more; what a death left unrecorded goes under its old number.

    Raises Conflict. A way that does not work fails nothing: its messages wait.
    """
    reporter = Reporter(cluster, operation, WEIGHTS)
    reporter.begin()
    reporter.tell(SEND, 0.0)
    ways = channels_of(cluster)
    if NoticeChannel.MAIL in ways:
        send_mails(cluster)
    if NoticeChannel.WEBHOOK in ways:
        send_calls(cluster)
    with cluster.store.write() as session:
        finish_in(session, operation.id, operation.fence, cluster.clock())
    cluster.bell.ring("operations", operation.id)


def record_broken(cluster: Cluster, operation: Operation, code: str, data: dict[str, Any]) -> None:
    with cluster.store.write() as session:
        fail_in(session, operation.id, operation.fence, cluster.clock(), code, data)
    cluster.bell.ring("operations", operation.id)


def send_mails(cluster: Cluster) -> None:
    by_person: dict[int, list[Notice]] = {}
    for notice in list_due(cluster, NoticeChannel.MAIL):
        by_person.setdefault(notice.user_id or 0, []).append(notice)
    for notices in by_person.values():
        user = notices[0].user
        if user is None or user.email is None or not may_be_told(user):
            record_sent(cluster, notices)  # Nobody wants it any more, or may have it.
            continue
        subject, text = compose(cluster, user.name, user.language, [each.occurrence for each in notices])
        try:
            with outside("mail.send"):
                mail = write_mail(
                    cluster.settings.mail_from, user.email, subject, text, number_of(cluster, notices)
                )
                send_mail(cluster.settings.mail_url, mail)
        except Unavailable as failed:
            record_failure(cluster, notices, str(failed.data["error"]))
        else:
            record_sent(cluster, notices)


def number_of(cluster: Cluster, notices: Sequence[Notice]) -> str:
    host = cluster.settings.public_url.partition("://")[2].partition("/")[0].partition(":")[0]
    return f"notices-{notices[0].id}-{notices[-1].id}@{host}"


def send_calls(cluster: Cluster) -> None:
    """Ends at the first that is not taken: one dead receiver must not hold up the queue for all the others' sake."""
    settings = cluster.settings
    for notice in list_due(cluster, NoticeChannel.WEBHOOK):
        timestamp = str(int(cluster.clock().timestamp()))
        try:
            with outside("webhook.call"):
                call_webhook(
                    settings.webhook_url,
                    settings.webhook_secret,
                    notice.id,
                    timestamp,
                    content_of(cluster, notice),
                )
        except Unavailable as failed:
            record_failure(cluster, [notice], str(failed.data["error"]))
            return
        record_sent(cluster, [notice])


def content_of(cluster: Cluster, notice: Notice) -> dict[str, Any]:
    """What a program reads, and the sentences for a person."""
    occurrence = notice.occurrence
    concern = occurrence.concern
    return {
        "id": notice.id,
        "code": concern["code"],
        "urgency": concern["urgency"],
        "since": occurrence.began_at.isoformat(),
        "text": {language: clean(cluster, sentence(cluster, occurrence, language)) for language in LANGUAGES},
        "url": cluster.settings.public_url + concern["path"],
    }


def compose(
    cluster: Cluster, name: str, language: str | None, occurrences: Sequence[Occurrence]
) -> tuple[str, str]:
    """Subject and text; in both languages for who has chosen none."""
    chosen = (language,) if language in LANGUAGES else LANGUAGES
    things = {"things": len(occurrences)}
    subject = " / ".join(words.say("mail.subject", things, each) for each in chosen)
    parts = ["\n".join(lines_of(cluster, name, each, occurrences)) for each in chosen]
    return f"[Groundcrew] {subject}", clean(cluster, "\n\n--\n\n".join(parts) + "\n")


def lines_of(cluster: Cluster, name: str, language: str, occurrences: Iterable[Occurrence]) -> Iterable[str]:
    public = cluster.settings.public_url
    yield words.say("mail.greeting", {"name": name}, language)
    for occurrence in occurrences:
        yield ""
        yield f"* {sentence(cluster, occurrence, language)}"
        yield f"  {public}{occurrence.concern['path']}"
    yield ""
    yield words.say("mail.once", {}, language)
    yield words.say("mail.stop", {"url": f"{public}/profile"}, language)


def sentence(cluster: Cluster, occurrence: Occurrence, language: str) -> str:
    concern = occurrence.concern
    zone, now = cluster.settings.zone, cluster.clock()
    said = [words.say(concern["code"], concern["data"], language, zone, now)]
    said += [words.say(code, data, language, zone, now) for code, data in concern["details"]]
    return " · ".join(said)


def clean(cluster: Cluster, text: str) -> str:
    """Reasons of failures quote programs, and those quote what they were given."""
    settings = cluster.settings
    secrets = (settings.secret_key, settings.audit_key, settings.metrics_token, settings.webhook_secret)
    return redact(text, [secret for secret in secrets if secret])
