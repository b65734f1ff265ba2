"""Fetches a training's code from its git source as an operation."""

import os

from cluster.failpoints import external_call
from cluster.services.context import Cluster
from cluster.services.git import git_fetches
from cluster.services.git.fetch_orders import read_fetch_order, require_room_for_files
from cluster.services.git.fetched_versions import find_fetched_version
from cluster.services.nodes.node_addresses import list_cluster_networks
from cluster.services.storage.disk_space import require_disk_space
from cluster.services.storage.staged_code import staged_code
from cluster.store.operations import Operation
from worker.git.git_connection import FetchRules
from worker.git.git_fetch import open_fetch
from worker.tasks.step_progress import StepProgress

WEIGHTS = {"ask_server": 1.0, "fetch_commit": 8.0, "look_through": 1.0}


def run_fetch(cluster: Cluster, operation: Operation) -> None:
    """The task may run twice, because no file is in its final place before the row is committed. Raises Refused,
    Unavailable and Conflict.
    """
    reporter = StepProgress(cluster, operation, WEIGHTS)
    reporter.start()
    order = read_fetch_order(cluster, operation)
    require_disk_space(cluster.settings)
    reporter.report("ask_server", 0.0)
    with open_fetch(order, fetch_rules(cluster, order.training.workspace_id)) as fetch:
        with external_call("git_fetches.asked"):
            found = fetch.find_commit()
        known = find_fetched_version(cluster, order, found.id)
        if known is not None:
            git_fetches.finish_unchanged(cluster, operation, known, fetch.read_known_hosts())
            return
        reporter.report("fetch_commit", 0.0, found.id[:12])
        with external_call("git_fetches.fetched"):
            commit = fetch.fetch(found)
        reporter.report("look_through", 0.0)
        files = fetch.read_files(commit)
        known_hosts = fetch.read_known_hosts()
    require_room_for_files(order, files)
    with staged_code(cluster.settings, order.training.workspace_id, files.items()) as staged:
        git_fetches.finish_fetch(cluster, operation, order, commit, staged, known_hosts)


def fetch_rules(cluster: Cluster, workspace_id: int) -> FetchRules:
    settings = cluster.settings
    return FetchRules(
        settings.git_hosts,
        list_cluster_networks(cluster),
        settings.unicode_file_names,
        settings.job_ids.for_fetch(workspace_id) if os.geteuid() == 0 else None,
    )
