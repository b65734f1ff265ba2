"""Three hosts with no way out, one bundle from which everything on them comes, and what each step took."""

import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.hosts.appliance.conftest import CACHE, ROOT, Played, note, play
from tests.hosts.appliance.conftest import ansible_programs as ansible_programs
from tests.hosts.appliance.conftest import image as image
from tests.hosts.appliance.conftest import pytest_configure as pytest_configure
from tests.hosts.appliance.conftest import pytest_terminal_summary as pytest_terminal_summary
from tests.hosts.kube.cached_bundle import kept_bundle
from tests.hosts.kube.compiled import NOT_BUILT, is_compiled
from tests.hosts.kube.egress import Egress, counted
from tests.hosts.kube.workloads.program_images import PROGRAMS, bring, build
from tests.hosts.machines.network_browser import browser as browser
from tests.hosts.machines.testbed import Host, Testbed, found_again, testbed

CALLBACKS = Path(__file__).parent / "callbacks"
NAME = "gc-kube"
STORAGE = "storage"
THREE = ["m", "w1", "w2"]
ADMINISTRATOR = "kubectl --kubeconfig /etc/kubernetes/admin.conf"
NO_EVICTIONS = dict.fromkeys(("nodefs.available", "nodefs.inodesFree", "imagefs.available"), "0%")
"""The hosts' disk is the machine's, which may be as full as it likes."""


@dataclass(frozen=True)
class Cluster:
    """The hosts, and what is typed on the master."""

    bed: Testbed
    inventory: Path
    egress: Egress
    programs: Path

    @property
    def master(self) -> Host:
        return self.bed.hosts["m"]

    @property
    def hosts(self) -> list[Host]:
        return list(self.bed.hosts.values())

    def kubectl(self, words: str) -> str:
        return self.master.ask(f"{ADMINISTRATOR} {words}")

    def apply(self, manifest: str) -> None:
        self.kubectl(f"apply -f - <<'END'\n{manifest}\nEND\n")

    def wait(self, words: str, seconds: float = 600) -> None:
        """Until this command of kubectl succeeds."""
        self.master.wait_until(f"{ADMINISTRATOR} {words}", seconds)

    def play(self, *options: str, playbook: str = "site.yml") -> Played:
        steps = self.bed.folder / "steps.json"
        more = {
            "ANSIBLE_CALLBACK_PLUGINS": f"{ROOT}/ansible/plugins/callback:{CALLBACKS}",
            "ANSIBLE_CALLBACKS_ENABLED": "plain_ending,seconds_per_task",
            "SECONDS_PER_TASK": str(steps),
        }
        played = play(self.bed, self.programs, playbook, self.inventory, *options, **more)
        for task, seconds in sorted(json.loads(steps.read_text()).items(), key=lambda each: -each[1])[:12]:
            note(f"    {seconds:6.1f} s  {task}")
        return played


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The rack has hosts of its own and comes first. Hosts from which everything was taken off can be asked nothing."""
    items.sort(key=lambda item: (item.path.stem != "test_first_rack", item.path.stem == "test_uninstall"))


@pytest.fixture(scope="session")
def bundle() -> Iterator[Path]:
    """GROUNDCREW_BUNDLE names one that is there; only `make test-kube` compiles what is missing."""
    given = os.environ.get("GROUNDCREW_BUNDLE")
    if given:
        yield Path(given)
        return
    if not os.environ.get("GROUNDCREW_BUILD_KUBERNETES") and not is_compiled():
        note(NOT_BUILT)
        pytest.skip(NOT_BUILT)
    since = time.monotonic()
    with kept_bundle(CACHE) as folder:
        note(f"kube: bundle there after {time.monotonic() - since:.0f} s")
        yield folder


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest, image: str, ansible_programs: Path) -> Iterator[Cluster]:
    """Bare hosts; the first test installs them. GROUNDCREW_INSTALLED_CLUSTER: the folder of a testbed that was kept."""
    kept = os.environ.get("GROUNDCREW_INSTALLED_CLUSTER")
    if kept:
        bed = found_again(Path(kept), image, CACHE)
        bed.shared = bed.folder / STORAGE
        with counted(bed.network, bed.subnet) as egress:
            yield Cluster(bed, bed.folder / "inventory.yml", egress, ansible_programs)
        return
    # Hosts that are installed need none, and wait for nobody's.
    bundle: Path = request.getfixturevalue("bundle")
    shares = int(os.environ.get("GROUNDCREW_HOST_SHARES", "0"))
    with testbed(NAME, image, CACHE, is_alone=True, shares=shares, shared=STORAGE) as bed:
        (bed.folder / "group_vars").symlink_to(ROOT / "inventory" / "group_vars")
        bed.add(*THREE, lent=(bundle,))
        more = {
            "groundcrew_kubernetes": True,
            "groundcrew_executor": "kubernetes",
            "storage_kind": "mounted",
            "portal_node_grace_seconds": 60,
            # Nobody is there to ask: pip takes the wheels of the site.
            "portal_package_index": "none",
            "groundcrew_bundle": str(bundle),
            "kubernetes_evictions": NO_EVICTIONS,
            "kubernetes_image_limit": 100,
            "kubernetes_addons_gpu_model": "stand-in",
        }
        inventory = bed.inventory(["m"], THREE, more, {"m": {"agent_cpu_slots": 0}})
        with counted(bed.network, bed.subnet) as egress:
            yield Cluster(bed, inventory, egress, ansible_programs)


@pytest.fixture(scope="module")
def network(cluster: Cluster) -> str:
    """That of the hosts which the browser looks at."""
    return cluster.bed.network


@pytest.fixture(scope="session")
def installed(cluster: Cluster) -> Cluster:
    """By site.yml from the bundle."""
    if not os.environ.get("GROUNDCREW_INSTALLED_CLUSTER"):
        cluster.play().must_succeed()
    return cluster


@pytest.fixture(scope="session")
def with_programs(installed: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Cluster:
    """The stand-in for a device plugin and the probe lie on every node."""
    folder = tmp_path_factory.mktemp("images")
    for program in PROGRAMS:
        bring(installed.hosts, build(program, folder))
    return installed
