"""The program that puts add-ons into a cluster again: namespaces were deleted, nobody answers for what is in them."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kubernetes.api_server import ADMINISTRATOR, ApiServer, until
from tests.kubernetes.compiled_programs import find_programs
from tests.unit.roles.rendering import render
from tests.unit.roles.test_kubernetes import given
from worker.kubernetes.api_client import KubernetesObject
from worker.kubernetes.object_kinds import object_head

FOLDERS = ("flannel", "kueue", "mpi_operator")
SPACES = ("kube-flannel", "kueue-system", "mpi-operator")
GROUP = "gc-tests.example"


def kind_of(*served: str) -> KubernetesObject:
    """As each of Kueue's own: written down in the oldest version, asked for in the newest one."""
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    versions = [
        {"name": name, "served": True, "storage": name == served[0], "schema": schema} for name in served
    ]
    names = {"plural": "stones", "singular": "stone", "kind": "Stone"}
    spec = {"group": GROUP, "scope": "Namespaced", "names": names, "versions": versions}
    if len(served) > 1:
        spec["conversion"] = conversion()
    return object_head("CustomResourceDefinition", f"stones.{GROUP}") | {"spec": spec}


def conversion() -> KubernetesObject:
    """Asked of a service that went with its namespace."""
    service = {"namespace": "kueue-system", "name": "gone", "path": "/convert"}
    webhook = {"clientConfig": {"service": service}, "conversionReviewVersions": ["v1"]}
    return {"strategy": "Webhook", "webhook": webhook}


class Master:
    """Its programs, its folder of manifests, and kubectl as the administrator."""

    def __init__(self, server: ApiServer, folder: Path) -> None:
        self.server, self.folder = server, folder
        self.kubectl_program = find_programs("kubectl")["kubectl"]
        self.kubeconfig = server.kubeconfig(ADMINISTRATOR)
        self.play_kubeadm()
        for name, space in zip(FOLDERS, SPACES, strict=True):
            self.write_manifest(name, space)

    def play_kubeadm(self) -> None:
        (self.folder / "bin").mkdir()
        (self.folder / "bin" / "kubectl").symlink_to(self.kubectl_program)
        program = self.folder / "bin" / "kubeadm"
        program.write_text("#!/bin/sh\nexit 0\n")
        program.chmod(0o755)

    def write_manifest(self, name: str, space: str) -> None:
        folder = self.folder / name
        folder.mkdir()
        (folder / "kustomization.yaml").write_text("resources: [all.yaml]\n")
        settings = object_head("ConfigMap", "put-in-again", space) | {"data": {}}
        (folder / "all.yaml").write_text(
            f"{json.dumps(object_head('Namespace', space))}\n---\n{json.dumps(settings)}\n"
        )

    def run(self, command: list[str], text: str = "") -> str:
        path = f"{self.folder / 'bin'}:/usr/bin:/bin"
        done = subprocess.run(
            command, input=text, capture_output=True, text=True, check=False, timeout=120,
            env={"PATH": path, "HOME": str(self.folder)},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    def kubectl(self, *words: str, text: str = "") -> str:
        return self.run(["kubectl", "--kubeconfig", str(self.kubeconfig), *words], text)

    def put_all_again(self) -> None:
        program = render("kubernetes", "addons", **given(kubernetes_folder=str(self.folder)))
        self.run(["sh", "-c", program.replace("/etc/kubernetes/admin.conf", str(self.kubeconfig))])

    def phase(self, space: str) -> str:
        found = self.server.api.get("Namespace", space)
        return found["status"]["phase"] if found else ""


@pytest.fixture
def master(server: ApiServer, tmp_path: Path) -> Iterator[Master]:
    master = Master(server, tmp_path)
    yield master
    for space in SPACES:
        server.api.delete("Namespace", space)


@pytest.fixture
def stone(master: Master) -> Iterator[None]:
    """Nobody can list it, until its kind has one version again."""
    write_a_stone(master)
    yield
    master.server.api.apply(kind_of("v1beta1"))
    name = f"stones.{GROUP}"
    master.kubectl("delete", "customresourcedefinition", name, "--timeout=60s")


def write_a_stone(master: Master) -> None:
    master.server.api.apply(kind_of("v1beta1"))
    stone = f"apiVersion: {GROUP}/v1beta1\nkind: Stone\nmetadata: {{name: stone, namespace: default}}\n"

    def says(*words: str, text: str = "") -> str:
        try:
            return master.kubectl(*words, text=text)
        except AssertionError as refusal:
            return str(refusal)

    until(lambda: "created" in says("create", "--filename", "-", text=stone), "that the kind is served")
    master.server.api.apply(kind_of("v1beta1", "v1beta2"))
    until(
        lambda: "conversion webhook" in says("get", f"stones.v1beta2.{GROUP}"), "that its stones are not read"
    )


@pytest.mark.long
def test_add_ons_come_back_where_a_kind_that_nobody_answers_for_holds_their_namespaces(
    master: Master, stone: None
) -> None:
    for space in SPACES:
        master.server.add_namespace(space)
        master.server.api.create(object_head("ConfigMap", "settings", space) | {"data": {}})
        master.server.api.delete("Namespace", space)
    assert {master.phase(space) for space in SPACES} == {"Terminating"}
    master.put_all_again()
    assert [master.phase(space) for space in SPACES] == ["Active"] * 3
    for space in SPACES:
        assert master.server.api.get("ConfigMap", "settings", space) is None, "what was in it went before it"
        assert master.server.api.get("ConfigMap", "put-in-again", space), "and nobody empties the next one"
    kind = master.server.api.get("CustomResourceDefinition", f"stones.{GROUP}")
    assert kind and kind["spec"]["conversion"]["strategy"] == "None", (
        "until Kueue's own manifest says otherwise"
    )


LATE = """#!/bin/sh
case "$*" in
  *apply*mpi_operator*)
    if ! test -e {late}; then
      touch {late}
      {kubectl} --kubeconfig {kubeconfig} --namespace kube-flannel delete configmap settings >&2
      exit 1
    fi
    ;;
esac
exec {kubectl} "$@"
"""


def test_what_a_late_deletion_takes_along_is_put_there_again(master: Master) -> None:
    """The controller of namespaces deletes by name: its round for the former namespace meets the new one's objects."""
    with (master.folder / "flannel" / "all.yaml").open("a") as manifest:
        manifest.write("---\napiVersion: v1\nkind: ConfigMap\n")
        manifest.write("metadata: {name: settings, namespace: kube-flannel}\ndata: {}\n")
    program = master.folder / "bin" / "kubectl"
    program.unlink()
    known = {"late": master.folder / "late", "kubeconfig": master.kubeconfig}
    program.write_text(LATE.format(kubectl=master.kubectl_program, **known))
    program.chmod(0o755)
    master.put_all_again()
    assert (master.folder / "late").exists()
    assert master.server.api.get("ConfigMap", "settings", "kube-flannel") is not None


@pytest.mark.long
def test_whoever_answers_for_names_goes_on_while_its_deployment_is_made_anew(master: Master) -> None:
    """Its pods hang on a ReplicaSet, which the next Deployment finds by its labels."""
    api = master.server.api
    pods = {"metadata": {"labels": {"app": "dns"}}, "spec": {"containers": [{"name": "dns", "image": "i"}]}}
    about = {"selector": {"matchLabels": {"app": "dns"}}, "template": pods}
    owner = api.create(object_head("Deployment", "coredns", "kube-system") | {"spec": about})["metadata"]
    owned = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "coredns", "uid": owner["uid"]}
    text = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "spec": about}
    text["metadata"] = {"name": "coredns-1", "namespace": "kube-system", "ownerReferences": [owned]}
    master.kubectl("create", "--filename", "-", text=json.dumps(text))
    master.put_all_again()
    assert api.get("Deployment", "coredns", "kube-system") is None
    said = master.kubectl("--namespace", "kube-system", "get", "replicaset", "coredns-1", "--output", "json")
    assert "ownerReferences" not in json.loads(said)["metadata"]
    master.kubectl("--namespace", "kube-system", "delete", "replicaset", "coredns-1")
