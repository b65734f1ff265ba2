"""`/stream`, the Server-Sent Events of one open tab: events of the bus, growth of job files, heartbeats.

Events: `<topic>` {"id"} · `log` {"job", "attempt", "sizes": {file: bytes}} · `metrics` {"job", "attempt",
"size"} · `beat` {} · `end` {} (the session is over). Content never travels here: the page asks for its
fragment after an event, and permissions are checked there.
"""

from flask import Blueprint, Response, g, request
from flask.typing import ResponseReturnValue
from flask_login import current_user

from cluster.domain.errors import Refused
from cluster.services.jobs import queries
from portal.i18n.messages import localized_sentence
from portal.live.event_hub import EventHub
from portal.live.event_stream import StartedStream, TabStream, make_disconnect_check
from portal.live.stream_slots import StreamSlots, TooManyStreams
from portal.shared_objects import shared_object
from portal.web.request_context import current_actor, current_cluster

blueprint = Blueprint("stream", __name__)

FILE_EVENTS = frozenset({"log", "metrics"})
"""What a watched job sends; a page may name them, they add nothing."""
TOPICS = FILE_EVENTS | frozenset(
    {"jobs", "queue", "nodes", "operations", "datasets", "workspaces", "users", "trainings", "environments"}
)
MAX_TOPICS = 20
MIMETYPE = "text/event-stream"
RETRY_AFTER_SECONDS = 30


@blueprint.get("/stream")
def stream() -> ResponseReturnValue:
    """`topics` is a list with commas: names, and `job:<id>` for the files of a job. Raises NotFound for a job that the
    person may not see.

    `since` is where a page was rendered; a browser that comes back by itself names the last event it received.
    A refusal is a line of text: browsers show none of it, and it comes as often as they ask again.
    """
    cluster, actor = current_cluster(), current_actor()
    topic_words = [topic for topic in request.args.get("topics", "").split(",") if topic]
    watched = [int(topic[4:]) for topic in topic_words if is_job_topic(topic)]
    topics = frozenset(topic for topic in topic_words if not is_job_topic(topic))
    if not topics <= TOPICS or len(topic_words) > MAX_TOPICS:
        raise Refused("topics", "stream.unknown_topic", topics=sorted(topics - TOPICS)[:5])
    for job_id in watched:
        queries.read_job(cluster, actor, job_id)
    tab = TabStream(
        cluster=cluster,
        actor=actor,
        token=current_user.token,
        event_hub=shared_object(EventHub),
        topics=topics,
        job_ids=tuple(watched),
        last_event_id=request.headers.get("Last-Event-ID") or request.args.get("since", ""),
        is_disconnected=make_disconnect_check(request.environ),
    )
    if request.method == "HEAD":
        return Response(mimetype=MIMETYPE)
    try:
        g.begun_stream = StartedStream(tab.events(shared_object(StreamSlots)))
    except TooManyStreams as refusal:
        status = 429 if refusal.code == "stream.too_many" else 503
        answer = Response(
            f"{localized_sentence(refusal.code, refusal.data)}\n", status, mimetype="text/plain"
        )
        answer.headers["Retry-After"] = str(RETRY_AFTER_SECONDS)
        return answer
    response = Response(g.begun_stream, mimetype=MIMETYPE)
    # nginx would otherwise keep events until its buffer is full.
    response.headers["X-Accel-Buffering"] = "no"
    return response


@blueprint.teardown_request
def end_unsent(error: BaseException | None) -> None:
    """Where what comes behind the view breaks, the server never gets the answer that would close it."""
    begun: StartedStream | None = g.pop("begun_stream", None)
    if error is not None and begun is not None:
        begun.close()


def is_job_topic(topic: str) -> bool:
    number = topic.removeprefix("job:")
    return topic.startswith("job:") and number.isascii() and number.isdigit() and len(number) < 12
