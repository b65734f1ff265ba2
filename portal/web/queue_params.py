"""Parses the filters and the position of the queue's page from its address."""

from flask import request

from cluster.domain.errors import Refused
from cluster.services.queue.queries import STATES, QueueCursor, QueueFilters
from portal.web.query_params import MAX_DIGITS, choice_param, id_param


def read_queue_filter(limit: int) -> QueueFilters:
    """The filters and the place of the page from its address. Raises Refused."""
    return QueueFilters(
        workspace_id=id_param("workspace"),
        user_id=id_param("user"),
        reason=request.args.get("reason", "")[:60] or None,
        state=choice_param("state", STATES) or None,
        after=parse_queue_cursor(request.args.get("after", ""), "after"),
        after_head=id_param("front"),
        after_run=parse_queue_cursor(request.args.get("run", ""), "run"),
        limit=limit,
    )


def parse_queue_cursor(text: str, field: str = "cursor") -> QueueCursor | None:
    """`<position>.<id>`, as `format_queue_cursor` makes it. Raises Refused, which names the field."""
    if not text:
        return None
    position, _, job_id = text.partition(".")
    try:
        if len(text) > 40 or not text.isascii():
            raise ValueError
        cursor = (int(position), int(job_id))
    except ValueError:
        raise Refused(field, "value.not_a_whole_number", value=text[:40]) from None
    return max(-(1 << 62), min(cursor[0], 1 << 62)), max(0, min(cursor[1], (1 << 31) - 1))


def parse_head_cursor(text: str) -> int:
    """Raises Refused."""
    if not (text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS):
        raise Refused("cursor", "value.not_a_whole_number", value=text[:40])
    return int(text)


def format_queue_cursor(cursor: QueueCursor | None) -> str | None:
    return f"{cursor[0]}.{cursor[1]}" if cursor else None
