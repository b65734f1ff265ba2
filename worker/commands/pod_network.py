"""The watcher of a Kubernetes node. It tells the packet filter to which workspace each pod of other nodes belongs."""

import argparse
import threading
from pathlib import Path

import structlog

from worker.kubernetes.api_client import ApiRefused, ApiUnreachable, KubernetesApi
from worker.kubernetes.pod_network import NodeRules, PodNetworkWatch, RulesRefused

log = structlog.get_logger()

PAUSE_SECONDS = 2.0
"""Seconds after a failure until everything is listed again. The rules stay as they are meanwhile."""


def main(arguments: list[str]) -> int:
    """Keeps the rules up to date until SIGTERM. They stay while the API server does not answer, and after the end."""
    parser = argparse.ArgumentParser("worker pod-network", description=__doc__)
    parser.add_argument("--node", required=True, help="this node's name in Kubernetes")
    parser.add_argument("--kubeconfig", required=True, type=Path)
    given = parser.parse_args(arguments)
    watch = PodNetworkWatch(KubernetesApi(given.kubeconfig), given.node, NodeRules())
    pause = threading.Event()
    while True:
        try:
            watch.follow()
        except (ApiUnreachable, ApiRefused, RulesRefused) as problem:
            log.warning("pods of other nodes are not followed", error=str(problem))
            pause.wait(PAUSE_SECONDS)
