"""What every executor promises, promised by Kubernetes: the same suite, on a real API server."""

from tests.integration.worker.executors.test_contract import *  # noqa: F403
