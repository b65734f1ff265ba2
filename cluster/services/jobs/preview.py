"""Previews a submission: it would start now, and where, or it would wait, and for what. Nothing is written."""

from sqlalchemy import func, select

from cluster.domain.jobs.submission import JobRequest, SubmissionPreview
from cluster.domain.people.actor import Actor
from cluster.domain.placement.types import JobToPlace, Placement
from cluster.services.context import Cluster
from cluster.services.images.environments import load_default_environment
from cluster.services.jobs.submission import check_submission, read_largest_node
from cluster.services.placement.past_durations import expected_duration, read_durations_of_kind
from cluster.services.placement.snapshot import read_placement_snapshot
from cluster.services.placement.start_blockers import dataset_reason, environment_reason
from cluster.store.jobs import Job, first_position


def preview_submission(
    cluster: Cluster, actor: Actor, training_id: int, request: JobRequest
) -> SubmissionPreview:
    """Previews the submission and writes nothing. Raises what `submit_job` would raise."""
    with cluster.store.read() as session:
        asked = check_submission(cluster, session, actor, training_id, request)
        checked, warnings = asked.request, asked.warnings
        board = read_placement_snapshot(cluster, session)
        kind, _ = read_largest_node(session)
        environment = environment_reason(session, load_default_environment(session))
        blocked = dataset_reason(session, asked.dataset) or environment or board.blockers.disk
        last = 1 + (session.scalar(select(func.max(Job.id))) or 0)
        end = first_position(last, checked.priority)
        expected = expected_duration(
            read_durations_of_kind(session, training_id, checked.units), checked.time_limit_seconds
        )
        limit = checked.time_limit_seconds
        head = JobToPlace(
            last,
            asked.training.workspace_id,
            checked.units,
            checked.priority,
            end,
            blocked,
            expected.seconds,
            limit + checked.grace_seconds if limit else None,
            cluster.clock(),
            expected.source,
        )
    decisions = board.decide([*board.jobs_to_place, head])
    decision = next(decision for decision in decisions if decision.job_id == last)
    if isinstance(decision, Placement):
        node = next(node.name for node in board.nodes if node.node_id == decision.node_id)
        return SubmissionPreview(checked.units, kind, node=node, warnings=warnings)
    return SubmissionPreview(checked.units, kind, decision.reason, decision.outlook, warnings=warnings)
