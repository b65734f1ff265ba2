"""The plugin by which a node closes itself and other workspaces to a workspace's pod, before that begins."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.unit.roles.rendering import ROOT, render
from tests.unit.roles.test_kubernetes import daemon, given
from worker.kubernetes.object_names import NAMESPACE_PREFIX

PLUGIN = ROOT / "roles" / "kubernetes" / "files" / "closed_pods.py"
RULES = """
import pathlib, sys
words, here = sys.argv[1:], pathlib.Path(__file__).parent
text = pathlib.Path(words[1]).read_text() if words[0] == "--file" else words[0]
if (here / "no table").exists():
    sys.exit("Error: No such file or directory")
with (here / "said").open("a") as said:
    said.writelines(line + "\\n" for line in text.splitlines() if not line.startswith("#"))
"""
"""Stands for nft: writes down what it is told, or refuses."""
CONNECTIONS = """
import pathlib, sys
here = pathlib.Path(__file__).parent
with (here / "ended").open("a") as ended:
    ended.write(" ".join(sys.argv[1:]) + "\\n")
if (here / "no rights").exists():
    sys.exit("conntrack v1.4.7 (conntrack-tools): Operation failed: Operation not permitted")
sys.exit("conntrack v1.4.7 (conntrack-tools): 0 flow entries have been deleted.")
"""
"""Stands for conntrack, which ends with 1 where there was no connection."""
Plugin = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def plugin(tmp_path: Path) -> Plugin:
    (tmp_path / "nft.py").write_text(RULES)
    (tmp_path / "conntrack.py").write_text(CONNECTIONS)
    text = PLUGIN.read_text()
    for ours, here in (
        ('Path("/run/groundcrew-closed-pods")', f"Path({str(tmp_path / 'closed')!r})"),
        ('["/usr/sbin/nft"]', repr([sys.executable, str(tmp_path / "nft.py")])),
        ('["/usr/sbin/conntrack"]', repr([sys.executable, str(tmp_path / "conntrack.py")])),
    ):
        assert ours in text
        text = text.replace(ours, here)
    (tmp_path / "plugin.py").write_text(text)

    def call(
        verb: str, namespace: str = "", container: str = "c1", address: str = "10.244.1.5"
    ) -> tuple[int, dict[str, Any]]:
        flannel = {
            "cniVersion": "0.3.1",
            "ips": [{"version": "4", "address": f"{address}/24"}] * bool(address),
        }
        told = {"cniVersion": "0.3.1", "name": "cbr0", "prevResult": flannel}
        if verb == "DEL":
            del told["prevResult"]  # This version of CNI does not say it again.
        said = f"IgnoreUnknown=1;K8S_POD_NAMESPACE={namespace};K8S_POD_NAME=p"
        done = subprocess.run(
            [sys.executable, "-I", "-S", str(tmp_path / "plugin.py")],
            input=json.dumps(told),
            env={"CNI_COMMAND": verb, "CNI_CONTAINERID": container, "CNI_ARGS": said},
            capture_output=True,
            text=True,
            check=False,
        )
        assert not done.stderr, done.stderr
        return done.returncode, json.loads(done.stdout) if done.stdout else {}

    return call


def said(folder: Path) -> list[str]:
    """Since it was last asked."""
    file = folder / "said"
    text = file.read_text() if file.exists() else ""
    file.unlink(missing_ok=True)
    return text.splitlines()


def loaded(folder: Path) -> list[str]:
    """What the rules read when they are loaded anew."""
    lines = [line for file in (folder / "closed").glob("*.nft") for line in file.read_text().splitlines()]
    return [line for line in lines if not line.startswith("#")]


T = "inet groundcrew_pods"


def closed(workspace: int, address: str = "10.244.1.5") -> list[str]:
    ours, others, sends, gets = (f"{name}_{workspace}" for name in ("local", "remote", "from", "to"))
    return [
        f"add set {T} {ours} {{ type ipv4_addr; }}",
        f"add set {T} {others} {{ type ipv4_addr; }}",
        *(f"{verb} chain {T} {name}" for name in (sends, gets) for verb in ("add", "flush")),
        *(f"add rule {T} {sends} ip daddr @{name} return" for name in (ours, others)),
        f"add rule {T} {sends} goto outside",
        *(f"add rule {T} {gets} ip saddr @{name} return" for name in (ours, others)),
        f"add rule {T} {gets} goto inside",
        f"add element {T} workspaces {{ {address} }}",
        f"add element {T} {ours} {{ {address} }}",
        f"add element {T} senders {{ {address} : jump {sends} }}",
        f"add element {T} receivers {{ {address} : jump {gets} }}",
    ]


def opened(workspace: int, address: str = "10.244.1.5") -> list[str]:
    names = ("senders", "receivers", f"local_{workspace}", "workspaces")
    return [f"delete element {T} {name} {{ {address} }}" for name in names]


def test_a_pod_of_a_workspace_is_closed_before_it_begins_and_its_address_is_free_after_it(
    plugin: Plugin, tmp_path: Path
) -> None:
    code, told = plugin("ADD", "gc-workspace-7")
    assert code == 0 and told["ips"][0]["address"] == "10.244.1.5/24" and told["cniVersion"] == "0.3.1"
    assert said(tmp_path) == loaded(tmp_path) == closed(7)
    assert plugin("DEL", "gc-workspace-7") == (0, {})
    assert said(tmp_path) == opened(7) and loaded(tmp_path) == []
    assert plugin("DEL", "gc-workspace-7") == (0, {}), "asked for twice"
    assert said(tmp_path) == []


@pytest.mark.parametrize("namespace", ["gc-workspace-7", "kube-system"])
def test_connections_of_the_addresss_former_pod_end(plugin: Plugin, tmp_path: Path, namespace: str) -> None:
    plugin("ADD", namespace)
    told = (tmp_path / "ended").read_text().splitlines()
    assert told == ["--delete --orig-src 10.244.1.5", "--delete --orig-dst 10.244.1.5"]


@pytest.mark.parametrize(("namespace", "code"), [("gc-workspace-7", 1), ("kube-system", 0)])
def test_a_pod_of_a_workspace_does_not_begin_beside_connections_that_cannot_be_ended(
    plugin: Plugin, tmp_path: Path, namespace: str, code: int
) -> None:
    (tmp_path / "no rights").touch()
    ended, told = plugin("ADD", namespace)
    assert ended == code and (code == 0 or "Operation not permitted" in told["msg"])


@pytest.mark.parametrize(
    "namespace", ["kube-system", "kueue-system", "mpi-operator", "default", "", "my-gc-workspace-1"]
)
def test_system_pods_and_those_of_the_site_keep_the_api_server(
    plugin: Plugin, tmp_path: Path, namespace: str
) -> None:
    code, told = plugin("ADD", namespace)
    assert code == 0 and told["ips"]
    assert said(tmp_path) == loaded(tmp_path) == []


@pytest.mark.parametrize("namespace", ["gc-workspace-", "gc-workspace-x", "gc-workspace-7; flush ruleset"])
def test_a_namespace_that_has_a_workspaces_name_and_no_number_runs_nothing(
    plugin: Plugin, tmp_path: Path, namespace: str
) -> None:
    code, told = plugin("ADD", namespace.replace(";", ""))
    assert code == 1 and "no workspace's number" in told["msg"] and said(tmp_path) == []


@pytest.mark.parametrize(("namespace", "rules"), [("kube-system", []), ("gc-workspace-8", closed(8))])
def test_an_address_that_was_a_workspaces_is_another_ones_now(
    plugin: Plugin, tmp_path: Path, namespace: str, rules: list[str]
) -> None:
    """Its end was never told, as after a power cut of the container engine."""
    plugin("ADD", "gc-workspace-7", "c1")
    said(tmp_path)
    plugin("ADD", namespace, "c2")
    assert said(tmp_path) == [*opened(7), *rules] and loaded(tmp_path) == rules


def test_the_late_end_of_a_pod_does_not_open_its_address_for_the_next_one(
    plugin: Plugin, tmp_path: Path
) -> None:
    plugin("ADD", "gc-workspace-7", "c1")
    plugin("ADD", "gc-workspace-8", "c2")
    said(tmp_path)
    plugin("DEL", "gc-workspace-7", "c1")
    assert said(tmp_path) == [] and loaded(tmp_path) == closed(8)


def test_a_pod_of_a_workspace_that_cannot_be_closed_does_not_begin(plugin: Plugin, tmp_path: Path) -> None:
    (tmp_path / "no table").touch()
    code, told = plugin("ADD", "gc-workspace-7")
    assert code == 1 and told["code"] >= 100 and "10.244.1.5 cannot be closed" in told["msg"]
    assert plugin("DEL", "gc-workspace-7")[0] == 0
    assert loaded(tmp_path) == []
    assert plugin("ADD", "kube-system")[0] == 0, "no other pod waits for the rules"
    (tmp_path / "no table").unlink()
    assert plugin("ADD", "gc-workspace-7", address="")[0] == 1


def test_it_says_which_versions_it_speaks(plugin: Plugin) -> None:
    code, told = plugin("VERSION")
    assert code == 0 and "0.3.1" in told["supportedVersions"]


def test_the_rules_close_the_api_server_to_workspaces_before_they_open_it_to_pods() -> None:
    rules = render("kubernetes", "pod-ports.nft", **given(groundcrew_portal_port=8443))
    closed, opened = "ip saddr @workspaces tcp dport 6443 counter reject", "tcp dport { 6443, 8443 } accept"
    assert rules.index("set workspaces {") < rules.index(closed) < rules.index(opened)
    includes = [line for line in rules.splitlines() if line.startswith("include ")]
    assert includes == [f'include "/run/groundcrew-{name}/*.nft"' for name in ("closed-pods", "pod-network")]
    assert rules.rstrip().endswith("\n".join(includes)), "after the table they stand in"


def test_flannel_lays_the_plugin_out_with_the_settings_that_name_it() -> None:
    text = PLUGIN.read_text()
    patches = daemon(kubernetes_closed_pods=text)
    data = patches["ConfigMap"]["data"]
    assert data["closed-pods"] == text and text.startswith("#!/usr/bin/python3 -IS\n")
    kinds = [each["type"] for each in json.loads(data["cni-conf.json"])["plugins"]]
    assert kinds == ["flannel", "groundcrew-closed-pods", "portmap"]
    template = patches["DaemonSet"]["spec"]["template"]
    settings, first = template["spec"]["initContainers"]
    assert (settings["name"], settings["command"], settings["args"][1]) == (
        "install-cni",
        ["cp"],
        "/etc/kube-flannel/cni-conf.json",
    )
    assert first["args"][-1] == f"/opt/cni/bin/{kinds[1]}" and "flannel:v" in first["image"]
    modes = {
        each["name"]: each.get("configMap", {}).get("defaultMode") for each in template["spec"]["volumes"]
    }
    assert modes["flannel-cfg"] == 0o755
    other = daemon(kubernetes_closed_pods=text + "#\n")["DaemonSet"]["spec"]["template"]
    assert other["metadata"] != template["metadata"], "a changed plugin is laid out anew"


def test_namespaces_of_workspaces_begin_as_the_plugin_thinks() -> None:
    assert f'WORKSPACES = "{NAMESPACE_PREFIX}"' in PLUGIN.read_text()
