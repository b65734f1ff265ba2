"""The programs by which a node is kept and mended, run with stand-ins for kubectl, kubeadm and their like."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.unit.roles.rendering import render
from tests.unit.roles.test_kubernetes import given

STAND_IN = """#!/bin/sh
echo "$(basename "$0") $*" >>{calls}
case "$(basename "$0") $*" in {answers} esac
"""
TOKEN = "abcdef.0123456789abcdef"


class Place:
    """A folder that has the node's own places, and a PATH with the stand-ins alone in front."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.calls = folder, folder / "calls"
        self.etc, self.kubelet = folder / "etc", folder / "kubelet"
        for each in (self.etc, self.kubelet, folder / "bin", folder / "programs", folder / "run"):
            each.mkdir()

    def play(self, name: str, where: str) -> None:
        """`where`: cases of the shell, by name and words of the call."""
        path = self.folder / where / name
        path.write_text(STAND_IN.format(calls=self.calls, answers=self.answers))
        path.chmod(0o755)

    answers = "*) ;;"

    def run(self, template: str, *words: str) -> "subprocess.CompletedProcess[str]":
        known = given(
            kubernetes_folder=str(self.etc),
            kubernetes_programs=str(self.folder / "programs"),
            kubernetes_ticket=str(self.folder / "run" / "ticket"),
        )
        text = render("kubernetes", template, **known).replace("/var/lib/kubelet", str(self.kubelet))
        text = text.replace("/etc/kubernetes/", f"{self.folder}/kubernetes/")
        text = text.replace("/run/groundcrew-join.yaml", str(self.folder / "run" / "join.yaml"))
        path = f"{self.folder / 'bin'}:{os.environ['PATH']}"
        return subprocess.run(
            ["sh", "-c", text, template, *words],
            capture_output=True, text=True, check=False, env={**os.environ, "PATH": path},
        )  # fmt: skip

    def called(self) -> list[str]:
        return self.calls.read_text().splitlines() if self.calls.exists() else []


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_a_node_that_has_left_does_not_come_into_being_by_its_labels(place: Place) -> None:
    (place.etc / "nodes").write_text("# Written.\nw1 a=1 b=2\ngone a=1\n")
    place.answers = "*'get node w1'*) echo node/w1 ;;"
    place.play("kubectl", "bin")
    assert place.run("addons", "nodes").returncode == 0
    assert [call for call in place.called() if " label " in call] == [
        "kubectl label node w1 --overwrite a=1 b=2"
    ]


def test_no_command_line_has_the_token_by_which_a_node_joins(place: Place) -> None:
    (place.etc / "join.yaml").write_text("token: TOKEN\nhash: FINGERPRINT\n")
    (place.folder / "run" / "ticket").write_text(f"feed\n{TOKEN}\n")
    place.answers = f"'kubeadm join'*) cat {place.folder}/run/join.yaml >>{place.folder}/told ;;"
    place.play("kubeadm", "bin")
    assert place.run("join").returncode == 0
    assert (place.folder / "told").read_text() == f"token: {TOKEN}\nhash: feed\n"
    assert not any(TOKEN in call for call in place.called())
    assert list((place.folder / "run").iterdir()) == []
    assert {path.name for path in place.etc.iterdir()} == {"join.yaml", "member"}


def test_a_join_that_fails_is_taken_back_by_the_next_one(place: Place) -> None:
    (place.etc / "join.yaml").write_text("")
    place.answers = "'kubeadm join'*) exit 1 ;;"
    place.play("kubeadm", "bin")
    place.play("leave", "programs")
    for _ in range(2):
        (place.folder / "run" / "ticket").write_text(f"feed\n{TOKEN}\n")
        assert place.run("join").returncode == 1
        assert {path.name for path in place.etc.iterdir()} == {"join.yaml", "begun"}
        assert list((place.folder / "run").iterdir()) == []
    assert [call.split()[0] for call in place.called()] == ["kubeadm", "leave", "kubeadm"]


@pytest.mark.parametrize(
    ("is_away", "is_master", "has_settings", "code", "called"),
    [
        (False, False, False, 0, "kubeadm upgrade node phase kubelet-config --patches patches"),
        (False, True, True, 0, "kubeadm upgrade node phase kubelet-config --patches patches"),
        (True, True, False, 0, "kubeadm init phase kubelet-start --config cluster.yaml"),
        (True, False, True, 0, None),
        (True, False, False, 1, None),
    ],
)
def test_a_kubelet_has_settings_also_while_the_api_server_is_away(
    place: Place, is_away: bool, is_master: bool, has_settings: bool, code: int, called: str | None
) -> None:
    """On the master it is the kubelet that starts the API server: it cannot wait for it."""
    place.answers = f"kubectl*) exit {int(is_away)} ;;"
    for name in ("kubectl", "kubeadm"):
        place.play(name, "bin")
    if is_master:
        (place.etc / "cluster.yaml").write_text("")
    if has_settings:
        (place.kubelet / "config.yaml").write_text("kind: KubeletConfiguration\n")
    assert place.run("kubelet-settings").returncode == code
    assert [call for call in place.called() if call.startswith("kubeadm")] == ([called] if called else [])


AUTHORITIES = ("ca", "etcd/ca", "front-proxy-ca")


def test_a_control_plane_is_not_made_anew_without_the_key_of_its_secrets(place: Place) -> None:
    """A new key would read none of them: what is kept with the authority is to be put back first."""
    pki = place.folder / "kubernetes" / "pki"
    (pki / "etcd").mkdir(parents=True)
    for name in ("sa.key", *(f"{name}.{kind}" for name in AUTHORITIES for kind in ("crt", "key"))):
        (pki / name).write_text("kept")
    (place.etc / "encrypted").write_text("")
    for name in ("systemctl", "kubeadm", "kubectl"):
        place.play(name, "bin")
    done = place.run("control-plane")
    assert done.returncode == 1 and "encryption.yaml is gone" in done.stderr
    assert place.called() == [] and not (pki / "encryption.yaml").exists()


LINKS = """
cd {folder}; set -e
ip link add train type bridge; ip address add 10.9.8.7/24 dev train; ip link set train up
sh ./service-route >said 2>&1 & program=$!
trap 'kill $program' EXIT
there() {{ ip -4 route show 10.96.0.0/16 | grep -q 'dev train.*src 10.9.8.7'; }}
comes() {{ for tried in $(seq 100); do there && return; sleep 0.1; done; echo "no route: $1"; exit 1; }}
comes "at first"
ip link set train down; ip link set train up; comes "after its link went"
ip address delete 10.9.8.7/24 dev train; if there; then exit 2; fi
ip address add 10.9.8.7/24 dev train; comes "after its address went"
ip route delete 10.96.0.0/16; comes "after it was deleted by hand"
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="a network of its own is root's")
def test_the_way_to_services_comes_back_with_its_link(tmp_path: Path) -> None:
    """In a network of its own, which ends with whatever runs in it."""
    (tmp_path / "service-route").write_text(
        render("kubernetes", "service-route", **given(kubernetes_address="10.9.8.7"))
    )
    command = [
        "unshare",
        "--net",
        "--pid",
        "--fork",
        "--kill-child",
        "sh",
        "-c",
        LINKS.format(folder=tmp_path),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
