"""Operation pages: list, show steps, progress and log, retry."""

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from cluster.domain.errors import NotFound
from cluster.domain.states import OperationKind, OperationState
from cluster.files.safe_read import FileMissing, FileNotPlain, open_file_beneath
from cluster.services.operations import queries, retries
from cluster.store.base import LARGEST_ID
from portal.job_files.logs.log_chunks import read_log_chunk
from portal.presenters.operation_steps import OPEN_STATES, operation_steps
from portal.web.request_context import current_actor, current_cluster, is_fragment_request
from portal.web.responses.file_responses import send_file_so_far

blueprint = Blueprint("operations", __name__)

PAGE_LENGTH = 50
TAIL_BYTES = 8 * 1024


@blueprint.get("/operations")
def index() -> ResponseReturnValue:
    """Parameters: `only=open` or `only=ended`; `before` (keyset)."""
    only = request.args.get("only", "")
    rows = queries.list_operations(
        current_cluster(),
        current_actor(),
        before_id=min(request.args.get("before", LARGEST_ID, type=int), LARGEST_ID),
        limit=PAGE_LENGTH + 1,
        is_open={"open": True, "ended": False}.get(only),
    )
    shown, has_more = rows[:PAGE_LENGTH], len(rows) > PAGE_LENGTH
    template = "operations/_list.html" if is_fragment_request() else "operations/list.html"
    return render_template(template, operations=shown, only=only, has_more=has_more)


@blueprint.get("/operations/<int:operation_id>")
def page(operation_id: int) -> ResponseReturnValue:
    operation = queries.read_operation(current_cluster(), current_actor(), operation_id)
    if operation.kind == OperationKind.REPAIR and current_actor().is_administrator:
        return redirect(url_for("repairs.run", run_id=operation.subject_id), 303)
    template = "operations/_operation.html" if is_fragment_request() else "operations/page.html"
    has_failed = operation.state in (OperationState.FAILED, OperationState.INTERRUPTED)
    return render_template(
        template,
        operation=operation,
        steps=operation_steps(operation),
        is_open=operation.state in OPEN_STATES,
        log_tail=read_operation_log_tail(operation_id),
        may_retry=has_failed and retries.can_retry_operation(current_cluster(), current_actor(), operation),
        retry_obstacle=retries.read_retry_obstacle(current_cluster(), operation) if has_failed else None,
    )


def operation_log_parts(operation_id: int) -> tuple[str, str]:
    """The path below the state directory at which the task worker wrote its log."""
    return "log", f"operation-{operation_id}.log"


def read_operation_log_tail(operation_id: int) -> str:
    """The last lines of its log; empty if the operation writes none."""
    try:
        with open_file_beneath(
            current_cluster().settings.state_dir, *operation_log_parts(operation_id)
        ) as file:
            return read_log_chunk(file, -TAIL_BYTES).text
    except (FileMissing, FileNotPlain):
        return ""


@blueprint.get("/operations/<int:operation_id>/log")
def log(operation_id: int) -> ResponseReturnValue:
    """Sends the whole log as text. Raises NotFound if there is none."""
    operation = queries.read_operation(current_cluster(), current_actor(), operation_id)
    try:
        with open_file_beneath(
            current_cluster().settings.state_dir, *operation_log_parts(operation.id)
        ) as file:
            return send_file_so_far(file)
    except (FileMissing, FileNotPlain) as error:
        raise NotFound("log", operation_id) from error


@blueprint.post("/operations/<int:operation_id>/retry")
def retry(operation_id: int) -> ResponseReturnValue:
    retries.retry_operation(current_cluster(), current_actor(), operation_id)
    return redirect(url_for("operations.page", operation_id=operation_id), 303)
