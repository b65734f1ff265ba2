"""The Kubernetes executor keeps the contract of all executors: the same suite, on a real API server."""

from tests.integration.worker.executors.test_contract import *  # noqa: F403
