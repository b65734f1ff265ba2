"""The example inventory with other addresses: three bare hosts become a cluster whose GPUs train; what breaks is named.

Storage is mounted on every host, because the kernel of these hosts knows no NFS, and all packages come from a bundle.
GPUs are stand-ins and are called so: a library of NVML for each worker's agent, a device plugin for its kubelet. For
what `verify` looks at a worker also gets a PCI bus, ports and programs that no hardware is behind.
"""

import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from playwright.sync_api import Browser, expect

from tests.browser.journey import fill, sign_in
from tests.browser.repair_pages import VERDICTS, pages_of_repairs
from tests.hosts.appliance.conftest import CACHE, ROOT, Played, note
from tests.hosts.appliance.repair_scenarios import Break, Mender
from tests.hosts.kube.conftest import NO_EVICTIONS, STORAGE, THREE, Cluster
from tests.hosts.kube.egress import counted
from tests.hosts.kube.scenarios.gangs import UNITS, enter_with_models, train_by_torchrun, train_lenet
from tests.hosts.kube.scenarios.portal_user import Pilot
from tests.hosts.kube.workloads.manifests import DEVICES_OF_WORKERS, GPUS
from tests.hosts.kube.workloads.program_images import STAND_IN, Program, bring, build
from tests.hosts.machines import testbed as testbeds
from tests.hosts.machines.host_image import docker
from tests.hosts.machines.testbed import Host, Testbed

pytestmark = pytest.mark.long
NAME = "gc-rack"
EXAMPLE = ROOT / "inventory" / "example.yml"
LIBRARY = "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1"
UUIDS = [f"GPU-0000000{number}-0000-0000-0000-000000000000" for number in (1, 2)]


def write_inventory(bed: Testbed) -> Path:
    """The example without its last worker; each host has its address here, which no default route names."""
    known = yaml.safe_load(EXAMPLE.read_text())
    children = known["groundcrew"]["children"]
    del children["worker"]["hosts"]["gpu-worker-3"]
    named = [own for group in ("master", "worker") for own in children[group]["hosts"].values()]
    for own, host in zip(named, bed.hosts.values(), strict=True):
        own["ansible_host"] = own["base_address"] = host.address
    path = bed.folder / "inventory.yml"
    path.write_text(yaml.safe_dump(known))
    return path


@dataclass(frozen=True)
class Rack(Cluster):
    """What is typed beside the inventory's name: the key, the bundle's folder and what this machine lacks."""

    bundle: Path

    def site(self, *options: str) -> Played:
        more = {
            "groundcrew_bundle": str(self.bundle),
            "storage_kind": "mounted",
            "kubernetes_evictions": NO_EVICTIONS,
            "kubernetes_image_limit": 100,
        }
        known = f"-o StrictHostKeyChecking=accept-new -o UserKnownHostsFile={self.bed.folder / 'known_hosts'}"
        key = ("--private-key", str(self.bed.key), f"--ssh-common-args={known}")
        return self.play(*key, "-e", json.dumps(more), *options)


@pytest.fixture(scope="module")
def rack(
    image: str, ansible_programs: Path, bundle: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Rack]:
    """Bare hosts. GROUNDCREW_INSTALLED_RACK: the folder of a testbed that was kept."""
    if kept := os.environ.get("GROUNDCREW_INSTALLED_RACK"):
        folder = Path(kept)
        groups = yaml.safe_load((folder / "inventory.yml").read_text())["groundcrew"]["children"]
        addresses = [own["ansible_host"] for group in groups.values() for own in group["hosts"].values()]
        hosts = {name: Host(f"{NAME}-{name}", each) for name, each in zip(THREE, addresses, strict=True)}
        bed = Testbed(NAME, image, folder, CACHE, hosts, addresses[0].rpartition(".")[0])
        bed.shared = folder / STORAGE
        with counted(bed.network, bed.subnet) as egress:
            yield Rack(bed, folder / "inventory.yml", egress, ansible_programs, bundle)
        return
    library = tmp_path_factory.mktemp("nvml") / "libnvidia-ml.so.1"
    source = ROOT / "tests" / "data" / "nvml" / "stand_in.c"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    with testbeds.testbed(NAME, image, CACHE, is_alone=True, shared=STORAGE) as bed:
        (bed.folder / "group_vars").symlink_to(ROOT / "inventory" / "group_vars")
        for host in bed.add(*THREE, lent=(bundle,))[1:]:
            docker("cp", str(library), f"{host.name}:{LIBRARY}")
            host.ask("ldconfig")
        with counted(bed.network, bed.subnet) as egress:
            yield Rack(bed, write_inventory(bed), egress, ansible_programs, bundle)


@pytest.fixture(scope="module")
def workers(rack: Rack) -> list[Host]:
    return [rack.bed.hosts["w1"], rack.bed.hosts["w2"]]


@pytest.fixture(scope="module")
def made(rack: Rack) -> Played:
    """By one run of site.yml."""
    if os.environ.get("GROUNDCREW_INSTALLED_RACK"):
        return Played(0, "", 0.0)
    played = rack.site().must_succeed()
    load = os.getloadavg()[0]
    note(
        f"{NAME}: bare hosts to a cluster by the example inventory: {played.seconds / 60:.1f} min, load {load:.1f}"
    )
    return played


@pytest.fixture(scope="module")
def offering(rack: Rack, made: Played, workers: list[Host], tmp_path_factory: pytest.TempPathFactory) -> Rack:
    """Its kubelets offer two stand-ins each."""
    bring(workers, build(Program("stand_in_device_plugin", STAND_IN), tmp_path_factory.mktemp("images")))
    rack.apply(DEVICES_OF_WORKERS)
    for host in workers:
        count = f"get node {host.name} -o jsonpath='{{.status.allocatable.nvidia\\.com/gpu}}'"
        rack.wait(f"{count} | grep -x 2", 120)
    return rack


@pytest.fixture(scope="module")
def pilot(offering: Rack) -> Pilot:
    return enter_with_models(offering)


def test_the_run_says_what_it_made_and_where_the_portal_is(rack: Rack, made: Played) -> None:
    if not made.output:
        pytest.skip("the hosts were kept; nobody has the words of the run that made them")
    words = " ".join(made.output.split())
    assert f"Groundcrew is running at https://{rack.master.address}" in words
    assert "One-time secret:" in words and "Kubernetes: 3 nodes" in words


def test_every_gpu_is_offered_and_the_master_gives_no_processors_in_their_place(
    rack: Rack, pilot: Pilot, workers: list[Host]
) -> None:
    units = {node["name"]: node["units"] for node in pilot.call("GET", "nodes")["items"]}
    assert units == {rack.master.name: 0, **{host.name: 2 for host in workers}}
    nodes = json.loads(rack.kubectl("get nodes -o json"))["items"]
    allocatable = {
        node["metadata"]["name"]: int(node["status"]["allocatable"].get(GPUS, 0)) for node in nodes
    }
    assert allocatable == units


def test_an_mpi_job_of_two_nodes_trains_on_every_gpu(pilot: Pilot) -> None:
    job = train_lenet(pilot, "example inventory: LeNet on four stand-in GPUs of two nodes, MPIJob")
    assert len(pilot.attempts(job)) == 1
    pilot.check()


@pytest.fixture(scope="module")
def network(rack: Rack) -> str:
    return rack.bed.network


def test_torchrun_of_four_ranks_is_submitted_by_the_form_and_trains_on_every_gpu(
    pilot: Pilot, browser: Browser
) -> None:
    def submit(pilot: Pilot, training: int) -> int:
        with browser.new_context(base_url=pilot.url, ignore_https_errors=True, locale="en-US") as context:
            page = context.new_page()
            sign_in(page, "ops")
            page.goto(f"/trainings/{training}/jobs/new")
            values = {"name": "by-the-form", "dataset": str(pilot.made["digits"]), "units": str(UNITS)}
            fill(page, values | {"script": "main.py", "launcher": "torchrun"})
            page.get_by_role("button", name="Make 1 job").click()
            page.wait_for_url(re.compile(r"/jobs/\d+$"))
            return int(page.url.rpartition("/")[2])

    job = train_by_torchrun(
        pilot, "example inventory: torchrun by the form on four stand-in GPUs of two nodes", submit
    )
    assert len(pilot.attempts(job)) == 1
    pilot.check()


def test_a_second_run_changes_nothing_and_its_pods_multiply(offering: Rack, workers: list[Host]) -> None:
    played = offering.site().must_succeed()
    assert set(played.changed.values()) == {0}, played.changed_tasks()
    words = " ".join(played.output.split())
    for number, host in enumerate(workers, 1):
        assert (
            f"gpu-worker-{number}: 2 GPUs are offered to jobs (simulated: no GPU of this host is real)"
            in words
        )
        assert f"{host.name}: a pod had stand-in-0,stand-in-1 and multiplied on the CPU (simulated" in words
    note(f"{NAME}: second run: {played.seconds:.0f} s, load {os.getloadavg()[0]:.1f}")
    inside, outside = offering.egress.count()
    assert inside > 1000 and outside == 0


HARDWARE = """set -e; rm -rf /srv/rack; mkdir -p /srv/rack/pci/devices /srv/rack/class /srv/rack/sys
card() {
  mkdir /srv/rack/pci/devices/$1
  echo 0x10de > /srv/rack/pci/devices/$1/vendor; echo $2 > /srv/rack/pci/devices/$1/device
  echo $3 > /srv/rack/pci/devices/$1/class
}
card 0000:41:00.0 0x2330 0x030200; card 0000:42:00.0 0x2330 0x030200; card 0000:50:00.0 0x22a3 0x068000
mount --bind /sys /srv/rack/sys; mount --make-private /srv/rack/sys
for name in /sys/class/*; do ln -s /srv/rack/sys/class/${name##*/} /srv/rack/class/; done
rm -f /srv/rack/class/infiniband
mkdir -p /srv/rack/class/infiniband/mlx5_0/ports/1 /srv/rack/class/infiniband/mlx5_0/device/net/ibp1
echo InfiniBand > /srv/rack/class/infiniband/mlx5_0/ports/1/link_layer
echo '4: ACTIVE' > /srv/rack/class/infiniband/mlx5_0/ports/1/state
mount --bind /srv/rack/pci /sys/bus/pci; mount --bind /srv/rack/class /sys/class
cp /etc/groundcrew/agent/interfaces.json /srv/rack/
echo '{"infiniband": ["ibp1"]}' > /etc/groundcrew/agent/interfaces.json
printf '[Service]\\nExecStart=/bin/sleep infinity\\n' > /run/systemd/system/nvidia-fabricmanager.service
systemctl daemon-reload; systemctl start nvidia-fabricmanager
"""
TAKEN_AWAY = """umount /sys/class /sys/bus/pci /srv/rack/sys; cp /srv/rack/interfaces.json /etc/groundcrew/agent/
systemctl stop nvidia-fabricmanager; rm -f /run/systemd/system/nvidia-fabricmanager.service; systemctl daemon-reload
rm -rf /srv/rack /usr/local/bin/nvidia-smi /usr/local/bin/nv-fabricmanager"""


def program(name: str, text: str) -> str:
    """What to type so that a host has this program."""
    path = f"/usr/local/bin/{name}"
    return f"printf '#!/bin/sh\\n%s\\n' '{text}' > {path}; chmod 755 {path}"


WHOLE = program("nvidia-smi", f'echo "{UUIDS[0]}, 580.126.20"; echo "{UUIDS[1]}, 580.126.20"')
MANAGER = program("nv-fabricmanager", "echo Fabric Manager version is : {}")
COUNT = "/run/systemd/system/groundcrew-agent.service.d/count.conf"
REPORTED = "grep -o '\"uuid\"' /var/lib/groundcrew/telemetry/$(hostname).json | wc -l"
BROKEN_PLUGIN = "/var/lib/kubelet/device-plugins/stand-in-broken"


@dataclass(frozen=True)
class Fault:
    """One thing on a worker that does not work; `undo` is typed once both have looked."""

    words: str
    command: str
    undo: str
    cause: str
    remedy: str
    typed: str
    """The command that the finding names."""
    offered: int = 2
    """The GPUs that the kubelet offers with it."""
    agent: int = 2
    """The GPUs that the agent reports with it."""


LOST_GPU = Fault(
    "a GPU fell off the bus",
    program("nvidia-smi", f'echo "{UUIDS[0]}, 580.126.20"'),
    WHOLE,
    "2 GPUs are on the PCI bus and nvidia-smi shows 1",
    "a GPU that is missing there has to be reseated or replaced",
    "dmesg | grep -i nvrm",
)
NO_DRIVER = Fault(
    "the driver is not loaded",
    program("nvidia-smi", "echo NVIDIA-SMI has failed; exit 9"),
    WHOLE,
    "nvidia-smi shows 0: NVIDIA-SMI has failed",
    "Look at the kernel's words",
    "dmesg | grep -i nvrm",
)
SHORT_AGENT = Fault(
    "the agent offers one GPU of two",
    f"mkdir -p $(dirname {COUNT}); printf '[Service]\\nEnvironment=NVML_STAND_IN_COUNT=1\\n' > {COUNT}; "
    "systemctl daemon-reload; systemctl restart groundcrew-agent",
    f"rm {COUNT}; systemctl daemon-reload; systemctl restart groundcrew-agent",
    "2 GPUs are on the PCI bus and the agent offers 1 to jobs",
    "start it anew",
    "systemctl restart groundcrew-agent",
    agent=1,
)
NO_MANAGER = Fault(
    "the fabric manager has stopped",
    "systemctl stop nvidia-fabricmanager",
    "systemctl start nvidia-fabricmanager",
    "NVSwitches need the fabric manager, and it is inactive",
    "system not yet initialized",
    "journalctl -n 30 -u nvidia-fabricmanager",
)
OLD_MANAGER = Fault(
    "the fabric manager is of another build",
    MANAGER.format("580.105.08"),
    MANAGER.format("580.126.20"),
    "The fabric manager is 580.105.08, the driver 580.126.20",
    "Run the hardware's roles again",
    "dpkg-query -W",
)
NO_LINK = Fault(
    "a port has no link",
    "echo '2: INIT' > /srv/rack/class/infiniband/mlx5_0/ports/1/state",
    "echo '4: ACTIVE' > /srv/rack/class/infiniband/mlx5_0/ports/1/state",
    "ibp1 is there for InfiniBand, and port 1 of mlx5_0 is INIT",
    "ACTIVE takes a cable, a switch, and a subnet manager",
    "ibstat mlx5_0 1",
)
SHORT_PLUGIN = Fault(
    "the device plugin offers one GPU of two",
    f"echo stand-in-1 > {BROKEN_PLUGIN}",
    f"rm {BROKEN_PLUGIN}",
    "2 GPUs are on the PCI bus and pods may ask for 1",
    "The device plugin on that node offers what the driver shows it",
    "kubectl --namespace kube-system logs",
    offered=1,
)
WRONG_POD = Fault(
    "a pod does not compute on what it gets",
    "true",
    "true",
    "a pod does not compute on its GPUs: 2 GPUs are wanted and torch",
    "Look at what the kernel and the node's containers say",
    "journalctl -n 30 -u containerd -u kubelet",
)
TOGETHER = (
    (LOST_GPU, SHORT_AGENT, NO_MANAGER, NO_LINK),
    (NO_DRIVER,),
    (OLD_MANAGER,),
    (SHORT_PLUGIN,),
    (WRONG_POD,),
)
"""What hides nothing of one another is broken at the same time: each look at a cluster takes a minute."""
SAID = {verdict: word for word, verdict in VERDICTS.items()}


@contextmanager
def hardware_on(host: Host) -> Iterator[None]:
    """Two GPUs and an NVSwitch on its bus and a port of InfiniBand, all of which say that they work."""
    host.ask(HARDWARE)
    try:
        host.ask(f"{WHOLE}; {MANAGER.format('580.126.20')}")
        yield
    finally:
        host.run(TAKEN_AWAY)


@pytest.fixture(scope="module")
def racked(offering: Rack, workers: list[Host]) -> Iterator[Host]:
    with hardware_on(workers[0]):
        yield workers[0]


@pytest.mark.parametrize("faults", TOGETHER, ids=lambda faults: ", ".join(each.words for each in faults))
def test_the_end_of_an_installation_and_the_button_name_what_is_broken(
    offering: Rack, racked: Host, pilot: Pilot, browser: Browser, faults: tuple[Fault, ...]
) -> None:
    """The pods' image has no library for GPUs: with hardware on the bus what a pod computes is broken in any case.

    The button is clicked in the browser, and the page of its run is read there.
    """
    node = f"get node {racked.name} -o jsonpath='{{.status.allocatable.nvidia\\.com/gpu}}'"
    words = ", ".join(fault.words for fault in faults)
    try:
        for fault in faults:
            racked.ask(fault.command)
        offering.wait(f"{node} | grep -x {min(fault.offered for fault in faults)}", 60)
        racked.wait_until(f"{REPORTED} | grep -x {min(fault.agent for fault in faults)}", 60)
        since = time.monotonic()
        played = offering.site("--tags", "verify")
        assert played.code != 0
        names_each(faults, played.output.replace("\\n", " "))
        ended = time.monotonic()
        with pages_of_repairs(browser, pilot.url) as pages:
            mender = Mender(offering.master, pilot.token, pages)
            clicked = mender.mend(Break("verify-gpus", words, "true"), on=racked)
            assert clicked.verdict in ("not_verified", "broken"), (clicked.verdict, clicked.tasks)
            expect(pages.page.locator("#repair-run .pill")).to_have_text(
                SAID[clicked.verdict], timeout=60_000
            )
            names_each(faults, " ".join(pages.page.locator(".matrix-output").all_inner_texts()))
        note(
            f"{NAME}: {words}: by the end of site.yml in {ended - since:.0f} s, "
            f"by the button in {time.monotonic() - ended:.0f} s"
        )
    finally:
        for fault in faults:
            racked.ask(fault.undo)


def names_each(faults: tuple[Fault, ...], output: str) -> None:
    """With cause, remedy and command, wherever Ansible has broken its lines."""
    told = " ".join(output.split())
    for fault in faults:
        for part in (fault.cause, fault.remedy, fault.typed):
            assert part in told, (part, told[-6000:])
