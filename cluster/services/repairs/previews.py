"""Previews a repair: where it works, which jobs and operations it would disturb, and how long it takes.

The preview writes nothing.
"""

from collections.abc import Sequence

from cluster.domain.people.actor import Actor
from cluster.domain.people.permissions import require_administrator
from cluster.domain.repairs.definition import EffectOnJobs, RepairTargets, typical_seconds
from cluster.services.context import Cluster
from cluster.services.repairs.catalogue import find_catalogue_entry
from cluster.services.repairs.past_runs import (
    find_locking_run,
    has_no_run_started,
    read_last_runs,
    run_durations,
    summarize_repairs,
)
from cluster.services.repairs.reclaimable_files import list_reclaimable_paths
from cluster.services.repairs.repair_preview import RepairPreview
from cluster.services.repairs.repair_targets import (
    choose_targets,
    list_jobs_on_targets,
    list_node_targets,
    list_running_operations,
    list_undrained_hosts,
    master_target,
)


def preview_repair(cluster: Cluster, actor: Actor, name: str, node_ids: Sequence[int] = ()) -> RepairPreview:
    """Makes the preview and changes nothing. Raises Forbidden, NotFound, CatalogueInvalid."""
    require_administrator(actor)
    entry = find_catalogue_entry(cluster, name)
    repair = entry.repair
    leftovers = list_reclaimable_paths(cluster) if repair.lists == "leftovers" else []
    with cluster.store.read() as session:
        choices = list_node_targets(cluster, session) if repair.targets is RepairTargets.NODES else []
        targets = choose_targets(choices, node_ids) if choices else [master_target(cluster, session)]
        runs = read_last_runs(session, [name]).get(name, [])
        there = list_jobs_on_targets(session, [target.node_id for target in targets])
        operations = list_running_operations(session) if repair.restarts_operations else []
        under_way = find_locking_run(session, targets)
        gentler = summarize_repairs(
            session, [find_catalogue_entry(cluster, each).repair for each in repair.gentler]
        )
        is_first = has_no_run_started(session)
        busy = list_undrained_hosts(session, targets) if repair.needs_drained_nodes else []
    jobs = there if repair.jobs is not EffectOnJobs.GO_ON else []
    return RepairPreview(
        repair=repair,
        digest=entry.digest,
        targets=targets,
        choices=choices,
        read_at=cluster.clock(),
        last_runs=runs,
        seconds=typical_seconds(run_durations(runs)),
        jobs=jobs,
        jobs_there=len(there),
        operations=operations,
        leftovers=leftovers,
        gentler=gentler,
        under_way=under_way,
        is_first=is_first,
        busy=busy,
    )
