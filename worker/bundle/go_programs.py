"""Compile the Go programs of a bundle from the modules that the Go module proxy serves.

Each folder of `go/` pins its modules by version and sum.
"""

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from worker.bundle import licences
from worker.bundle.build_cache import BuildCache, CollectingFailed
from worker.bundle.sources import GoModule

FOLDERS = Path(__file__).parent / "go"
OWN_PACKAGE = "."
"""The package in the folder itself: a program of ours, or a replacement for an upstream main that cannot be built."""
EXCLUDED_BACKENDS = ("pkg/backend/tencentvpc", "pkg/backend/udp")
"""Backends of flannel that cannot be built: the proxy does not serve the modules of the first, and the second needs
cgo.
"""


@dataclass(frozen=True)
class GoProgram:
    name: str
    folder: str
    """The folder in `go/`, whose name is also that of the module in the sources map."""
    package: str
    version_at: tuple[str, ...] = ()
    """The variables that the linker sets. {version} is as v1.34.4; {major} and {minor} are its parts."""
    needs_c: bool = False
    """Whether the program is linked against the C library, which its image or package then has to bring."""
    tags: tuple[str, ...] = ()
    """The tags of parts of the program that are compiled only on request."""

    def flags(self, module: GoModule | None) -> str:
        parts = module.version.removeprefix("v").split(".") if module else ["", ""]
        values = {"version": module.version if module else "", "major": parts[0], "minor": parts[1]}
        return " ".join(["-s", "-w", *(f"-X {each.format(**values)}" for each in self.version_at)])


def _kubernetes(name: str) -> GoProgram:
    place = "k8s.io/component-base/version"
    # kubeadm derives the version of the images from its own version.
    set_by_linker = (
        f"{place}.gitVersion={{version}}",
        f"{place}.gitMajor={{major}}",
        f"{place}.gitMinor={{minor}}",
    )
    return GoProgram(name, "kubernetes", f"k8s.io/kubernetes/cmd/{name}", set_by_linker)


def _containerd(name: str) -> GoProgram:
    place = "github.com/containerd/containerd/v2"
    return GoProgram(name, "containerd", f"{place}/cmd/{name}", (f"{place}/version.Version={{version}}",))


PROGRAMS = (
    *map(_kubernetes, ("kubectl", "kubeadm", "kubelet", "kube-apiserver")),
    *map(_kubernetes, ("kube-controller-manager", "kube-scheduler", "kube-proxy")),
    GoProgram("etcd", "etcd", "go.etcd.io/etcd/server/v3"),
    GoProgram("etcdctl", "etcd", "go.etcd.io/etcd/etcdctl/v3"),
    GoProgram("etcdutl", "etcd", "go.etcd.io/etcd/etcdutl/v3"),
    *map(_containerd, ("containerd", "containerd-shim-runc-v2", "ctr")),
    # Without libseccomp runc refuses every pod that has a seccomp profile, as the pods of workspaces must.
    GoProgram("runc", "runc", "github.com/opencontainers/runc", needs_c=True, tags=("seccomp",)),
    GoProgram("pause", "pause", OWN_PACKAGE),
    GoProgram("coredns", "coredns", OWN_PACKAGE),
    GoProgram(
        "flanneld", "flannel", OWN_PACKAGE, ("github.com/flannel-io/flannel/pkg/version.Version={version}",)
    ),
    GoProgram("flannel", "cni", "github.com/containernetworking/plugins/plugins/meta/flannel"),
    GoProgram("mpi-operator", "mpi-operator", "github.com/kubeflow/mpi-operator/cmd/mpi-operator"),
    GoProgram(
        "kueue",
        "kueue",
        "sigs.k8s.io/kueue/cmd/kueue",
        ("sigs.k8s.io/kueue/pkg/version.GitVersion={version}",),
    ),
    GoProgram(
        "k8s-rdma-shared-dp",
        "rdma-shared-device-plugin",
        "github.com/Mellanox/k8s-rdma-shared-dev-plugin/cmd/k8s-rdma-shared-dp",
    ),
    GoProgram(
        "nvidia-device-plugin",
        "nvidia-device-plugin",
        "github.com/NVIDIA/k8s-device-plugin/cmd/nvidia-device-plugin",
        needs_c=True,
    ),
)


def module_of_program(program: GoProgram, modules: Mapping[str, GoModule]) -> GoModule | None:
    """The program's module. None for a program of ours."""
    return modules.get(program.folder)


ABOUT = "about.json"
TEXTS = "licences.txt"
LIST = "{{with .Module}}{{.Path}}\t{{.Version}}\t{{.Dir}}{{end}}"


@dataclass(frozen=True)
class BuiltProgram:
    program: GoProgram
    path: Path
    version: str
    licence: str
    """The licences of everything that is linked into the program."""
    source: str
    texts: Path
    """The file with the licence texts that is shipped with the program."""


def ensure_program(
    program: GoProgram, modules: Mapping[str, GoModule], build_cache: BuildCache
) -> BuiltProgram:
    """Returns the program from the cache, or builds it."""
    module = module_of_program(program, modules)
    folder = FOLDERS / program.folder
    pins = [file.read_bytes() for file in sorted(folder.iterdir())]
    described = [
        read_go_version(build_cache),
        program.package,
        program.flags(module),
        str(program.needs_c),
        str(module),
        *program.tags,
    ]
    inputs: list[str | bytes] = [*described, *pins]

    def make(building: Path) -> None:
        build_cache.print_progress(
            "building {name} {version}", name=program.name, version=module.version if module else ""
        )
        _build(program, module, folder, building, build_cache)

    made = build_cache.build_once(f"go-{program.name}", inputs, make)
    about = json.loads((made / ABOUT).read_text())
    return BuiltProgram(
        program, made / program.name, about["version"], about["licence"], about["source"], made / TEXTS
    )


def read_go_version(build_cache: BuildCache) -> str:
    try:
        return build_cache.run(["go", "env", "GOVERSION"]).strip()
    except FileNotFoundError as error:
        raise CollectingFailed("There is no Go on this machine: install Go 1.26.8 or newer.") from error


def _build(
    program: GoProgram, module: GoModule | None, folder: Path, building: Path, build_cache: BuildCache
) -> None:
    work = building / "work"
    shutil.copytree(folder, work)
    if program.package == OWN_PACKAGE and not (work / "main.go").exists():
        assert module is not None
        _take_main(module, work, build_cache)
    variables = {"CGO_ENABLED": "1" if program.needs_c else "0", "GOWORK": "off", "GOTOOLCHAIN": "local"}
    tags = ["-tags", ",".join(program.tags)] if program.tags else []
    command = [
        "go",
        "build",
        *tags,
        "-mod=readonly",
        "-trimpath",
        "-buildvcs=false",
        "-ldflags",
        program.flags(module),
    ]
    build_cache.run([*command, "-o", building / program.name, program.package], folder=work, more=variables)
    listed = build_cache.run(
        ["go", "list", *tags, "-deps", "-f", LIST, program.package], folder=work, more=variables
    )
    linked = sorted({tuple(line.split("\t")) for line in listed.splitlines() if line.count("\t") == 2})
    others = [(path, version, Path(place)) for path, version, place in linked if version and place]
    write_licence_texts(building / TEXTS, others)
    about = {
        "version": module.version if module else "1",
        "licence": licences.join_licences(
            ["Apache-2.0", *(licences.licence_of_folder(place) for _, _, place in others)]
        ),
        "source": f"Go module {module.path} {module.version}" if module else "this product",
    }
    (building / ABOUT).write_text(json.dumps(about))
    shutil.rmtree(work)


def _take_main(module: GoModule, work: Path, build_cache: BuildCache) -> None:
    """Copies upstream's main without the backends that cannot be built."""
    lines = (find_module_folder(module, work, build_cache) / "main.go").read_text().splitlines(keepends=True)
    kept = [line for line in lines if not any(f'{part}"' in line for part in EXCLUDED_BACKENDS)]
    (work / "main.go").write_text("".join(kept))


def find_module_folder(module: GoModule, pinned: Path, build_cache: BuildCache) -> Path:
    """The folder in which Go keeps the module's files. `pinned` contains the go.sum with which Go checks them."""
    command = ["go", "mod", "download", "-json", f"{module.path}@{module.version}"]
    return Path(json.loads(build_cache.run(command, folder=pinned, more={"GOWORK": "off"}))["Dir"])


def write_licence_texts(target: Path, linked: list[tuple[str, str, Path]]) -> None:
    """Writes one file with the licence text of each module. Its first line names Go's licence."""
    parts = ["The Go runtime and library: BSD-3-Clause, https://go.dev/LICENSE\n"]
    for path, version, place in linked:
        words = "\n".join(file.read_text(errors="replace") for file in licences.list_licence_files(place))
        parts.append(f"\n==== {path} {version}\n\n{words}")
    target.write_text("".join(parts))
