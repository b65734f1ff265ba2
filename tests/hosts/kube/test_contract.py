"""The Kubernetes executor keeps the contract of all executors: the same suite, with real kubelets and real pods."""

import pytest

from tests.hosts.kube.host_stage import stage as stage
from tests.hosts.kube.host_stage import tenant as tenant
from tests.integration.worker.executors.test_contract import *  # noqa: F403

pytestmark = pytest.mark.long
