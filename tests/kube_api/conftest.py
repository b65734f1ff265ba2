"""One API server for all tests of this folder; each has a namespace of its own."""

import itertools
import os
from collections.abc import Iterator

import pytest

from tests.kube_api.access import give_access
from tests.kube_api.stage import KubernetesStage, a_stage
from tests.kubernetes.api_server import SCHEDULER, ApiServer, api_server
from tests.kubernetes.compiled_programs import NOT_BUILT, NotCompiled
from tests.kubernetes.fake_kubelet import Kubelet

NUMBERS = itertools.count(1)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    try:
        with api_server(tmp_path_factory.mktemp("kubernetes")) as server:
            yield server
    except NotCompiled:
        pytest.skip(f"Kubernetes not asked: {NOT_BUILT}")


@pytest.fixture
def namespace(server: ApiServer) -> str:
    name = f"gc-test-{next(NUMBERS)}"
    server.add_namespace(name)
    return name


@pytest.fixture(scope="session")
def kubelet(server: ApiServer) -> Iterator[Kubelet]:
    if os.geteuid() != 0:
        pytest.skip("pods are played by root")
    with Kubelet(server.api) as kubelet:
        yield kubelet


@pytest.fixture(scope="session")
def with_rights(server: ApiServer) -> None:
    """What site.yml gives the scheduler."""
    give_access(server)


@pytest.fixture
def stage(server: ApiServer, with_rights: None, kubelet: Kubelet) -> Iterator[KubernetesStage]:
    with a_stage(server, kubelet, SCHEDULER) as stage:
        yield stage
