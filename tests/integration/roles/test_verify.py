"""Each thing that `verify` looks at is broken once: the end of site.yml and the repair by a button say the same of it.

Cards, ports, Kubernetes and programs are stand-ins: what is looked at lies under mounts of its own, which no other
process sees.
"""

import json
import os
import platform
import subprocess
from pathlib import Path

import pytest

from tests.lint import ROOT, environment

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root lays folders over those of the kernel"),
]
HOST = platform.node().partition(".")[0]
NODE = HOST.lower()
SMI = "echo GPU-1, 580.126.20\necho GPU-2, 580.126.20"
GPUS = [{"uuid": "GPU-1", "is_broken": False}, {"uuid": "GPU-2", "is_broken": False}]
SYSTEMCTL = 'case "$*" in *is-active*) echo {state}; exit {code};; *) exec /bin/systemctl "$@";; esac'
ENTER = """
set -e
mount --make-rprivate /
mount --bind "$1/pci" /sys/bus/pci
mount --bind "$1/class" /sys/class
mkdir -p /var/lib/groundcrew/telemetry /etc/groundcrew /etc/kubernetes
mount --bind "$1/telemetry" /var/lib/groundcrew/telemetry
mount --bind "$1/groundcrew" /etc/groundcrew
mount --bind "$1/kubernetes" /etc/kubernetes
mount --bind "$1/opt" /opt
cd "$2"; shift 2
exec "$@"
"""
PLAY = """
- hosts: targets
  gather_facts: false
  vars:
    groundcrew_state: /var/lib/groundcrew
    groundcrew_configuration: /etc/groundcrew
    groundcrew_home: /opt/groundcrew
    groundcrew_master: "{{ inventory_hostname }}"
    groundcrew_executor: kubernetes
    verify_tries: 1
  pre_tasks:
    - ansible.builtin.setup: {gather_subset: ["!all", "!min", platform]}
  roles: [verify]
"""
PYTHON = """case "$*" in
  *references*) echo '{"cpu": "registry.example:5443/default@sha256:0123"}';;
  *) echo 'print()';;
esac"""
KUBECTL = """case "$*" in
  *deployments*|*"get pods --all-namespaces"*) echo '{"items": []}';;
  *"get pods"*) echo '{"items": [{"metadata": {"name": "multiply-NODE"}, "status": {"phase": "Succeeded"}}]}';;
  *"get nodes"*) echo '{"items": ['; cat RACK/node.json; echo ']}';;
  *"get node "*) cat RACK/node.json;;
  *logs*) echo devices GPU-1,GPU-2; cat RACK/answer.json;;
  *) cat > /dev/null;;
esac"""


def write(path: Path, text: str, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


@pytest.fixture
def rack(tmp_path: Path) -> Path:
    """A host with two GPUs, an NVSwitch and an InfiniBand port, all of which work."""
    for address, device, kind in (
        ("0000:41:00.0", "0x2330", "0x030200"),
        ("0000:42:00.0", "0x2330", "0x030200"),
        ("0000:50:00.0", "0x22a3", "0x068000"),
    ):
        for name, value in (("vendor", "0x10de"), ("device", device), ("class", kind)):
            write(tmp_path / "pci" / "devices" / address / name, value)
    card = tmp_path / "class" / "infiniband" / "mlx5_0"
    (card / "device" / "net" / "ibp1").mkdir(parents=True)
    write(card / "ports" / "1" / "link_layer", "InfiniBand")
    write(card / "ports" / "1" / "state", "4: ACTIVE")
    write(tmp_path / "class" / "net" / "ibp1" / "type", "32")
    for name, text in (
        ("nvidia-smi", SMI),
        ("nv-fabricmanager", "echo Fabric Manager version is : 580.126.20"),
        ("systemctl", SYSTEMCTL.format(state="active", code=0)),
    ):
        program(tmp_path, name, text)
    write(tmp_path / "telemetry" / f"{HOST}.json", json.dumps({"gpus": GPUS}))
    write(tmp_path / "groundcrew" / "agent" / "interfaces.json", '{"infiniband": ["ibp1"]}')
    write(tmp_path / "groundcrew" / "groundcrew.env", "GROUNDCREW_EXECUTOR=kubernetes\n")
    write(tmp_path / "kubernetes" / "admin.conf", "")
    write(tmp_path / "opt" / "groundcrew" / "current" / "bin" / "python", f"#!/bin/sh\n{PYTHON}\n", 0o755)
    program(tmp_path, "kubectl", KUBECTL.replace("RACK", str(tmp_path)).replace("NODE", NODE))
    offer(tmp_path, 2)
    answer(tmp_path, "")
    write(tmp_path / "play.yml", PLAY)
    write(tmp_path / "hosts", f"[targets]\n{HOST} ansible_connection=local\n[master]\n{HOST}\n")
    return tmp_path


def offer(rack: Path, gpus: int) -> None:
    """What Kubernetes says of the node."""
    status = {
        "allocatable": {"nvidia.com/gpu": str(gpus)},
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    node = {"metadata": {"name": NODE}, "spec": {}, "status": status}
    write(rack / "node.json", json.dumps(node))


def answer(rack: Path, problem: str) -> None:
    """What the pod says that multiplies."""
    gpus = [{"uuid": uuid, "name": "H100", "difference": 0.0, "problem": ""} for uuid in ("GPU-1", "GPU-2")]
    told = {"framework": "torch 2.10.0", "is_simulated": False, "gpus": gpus, "problem": problem}
    write(rack / "answer.json", json.dumps(told))


def program(rack: Path, name: str, text: str) -> None:
    write(rack / "bin" / name, f"#!/bin/sh\n{text}\n", 0o755)


def play(rack: Path, folder: Path, settings: str, playbook: Path | str) -> tuple[int, str]:
    """The exit code, and the output as one line without Ansible's own breaks."""
    known = environment()
    programs = Path(known["ANSIBLE_COLLECTIONS_PATH"]).parents[2] / "bin"
    told = known | {
        "PATH": f"{rack}/bin:{programs}:/usr/bin:/bin:/usr/sbin:/sbin",
        "ANSIBLE_CONFIG": settings,
        "ANSIBLE_ROLES_PATH": str(ROOT / "roles"),
        "ANSIBLE_LOCAL_TEMP": str(rack / "tmp"),
    }
    given = ["-e", "ansible_become=false", "-e", "ansible_python_interpreter=/usr/bin/python3"]
    command = ["ansible-playbook", "-i", str(rack / "hosts"), *given, str(playbook)]
    done = subprocess.run(
        ["unshare", "--mount", "bash", "-c", ENTER, "enter", str(rack), str(folder), *command],
        env=told, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    return done.returncode, " ".join((done.stdout + done.stderr).replace("\\n", " ").split())


def break_smi(rack: Path) -> None:
    program(rack, "nvidia-smi", "echo GPU-1, 580.126.20")


def break_driver(rack: Path) -> None:
    program(rack, "nvidia-smi", "echo NVIDIA-SMI has failed; exit 9")


def break_agent(rack: Path) -> None:
    write(rack / "telemetry" / f"{HOST}.json", json.dumps({"gpus": GPUS[:1]}))


def break_fabric_manager(rack: Path) -> None:
    program(rack, "systemctl", SYSTEMCTL.format(state="failed", code=3))


def break_fabric_version(rack: Path) -> None:
    program(rack, "nv-fabricmanager", "echo Fabric Manager version is : 580.105.08")


def break_port(rack: Path) -> None:
    write(rack / "class" / "infiniband" / "mlx5_0" / "ports" / "1" / "state", "2: INIT")


def break_device_plugin(rack: Path) -> None:
    offer(rack, 1)


def break_multiplication(rack: Path) -> None:
    answer(rack, "GPU-2: the product differs from the CPU's by 0.5 of the largest element")


def break_api_server(rack: Path) -> None:
    program(rack, "kubectl", "echo connection to 10.0.0.10:6443 was refused >&2; exit 1")


@pytest.mark.parametrize(
    ("broken", "cause", "command"),
    [
        (None, f"{NODE}: in a pod multiplied as the CPU does: GPU-1, GPU-2", ""),
        (break_smi, "2 GPUs are on the PCI bus and nvidia-smi shows 1", "dmesg | grep -i nvrm"),
        (break_driver, "nvidia-smi shows 0: NVIDIA-SMI has failed", "dmesg | grep -i nvrm"),
        (break_agent, "the agent offers 1 to jobs", "systemctl restart groundcrew-agent"),
        (break_fabric_manager, "NVSwitches need the fabric manager, and it is failed", "journalctl -n 30"),
        (break_fabric_version, "The fabric manager is 580.105.08, the driver 580.126.20", "dpkg-query -W"),
        (
            break_device_plugin,
            "2 GPUs are on the PCI bus and pods may ask for 1",
            "kubectl --namespace kube-system logs",
        ),
        (
            break_multiplication,
            "a pod does not compute on its GPUs: GPU-2: the product differs",
            "journalctl -n 30",
        ),
        (
            break_api_server,
            "Kubernetes does not answer: connection to 10.0.0.10:6443 was refused",
            "-u kubelet",
        ),
        (break_port, "ibp1 is there for InfiniBand, and port 1 of mlx5_0 is INIT", "ibstat mlx5_0 1"),
    ],
)
def test_the_end_of_an_installation_and_the_button_say_the_same(
    rack: Path, broken: object, cause: str, command: str
) -> None:
    if callable(broken):
        broken(rack)
    by_role = play(rack, ROOT, "ansible.cfg", rack / "play.yml")
    by_button = play(rack, ROOT / "ansible", "repairs.cfg", "playbooks/repair/verify-gpus.yml")
    for code, said in (by_role, by_button):
        assert code == (2 if broken else 0), said[-2000:]
        assert cause in said and command in said, said[-2000:]
        assert ("remedy:" in said) is bool(broken)
