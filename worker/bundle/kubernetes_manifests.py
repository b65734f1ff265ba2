"""Extract the Kubernetes manifests of flannel and the add-ons from their Go modules."""

import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from worker.bundle.build_cache import BuildCache
from worker.bundle.go_programs import FOLDERS, find_module_folder
from worker.bundle.sources import BundleSources, GoModule

OVERLAY = """\
resources: [config/default]
images:
- name: us-central1-docker.pkg.dev/k8s-staging-images/kueue/kueue
  newName: {name}
  newTag: {tag}
"""
"""kueue's own release does the same: the released image replaces the development image."""


@dataclass(frozen=True)
class ModuleManifest:
    """The manifest's files in a module. Several files are joined."""

    module: str
    files: tuple[str, ...]


MODULE_MANIFESTS: Mapping[str, ModuleManifest] = {
    "flannel": ModuleManifest("flannel", ("Documentation/kube-flannel.yml",)),
    "kueue": ModuleManifest("kueue", ()),
    "mpi_operator": ModuleManifest("mpi-operator", ("deploy/v2beta1/mpi-operator.yaml",)),
    "nvidia_device_plugin": ModuleManifest(
        "nvidia-device-plugin", ("deployments/static/nvidia-device-plugin.yml",)
    ),
    "rdma_device_plugin": ModuleManifest(
        "rdma-shared-device-plugin",
        ("deployment/k8s/base/configmap.yaml", "deployment/k8s/base/daemonset.yaml"),
    ),
}


def extract_manifests(
    sources: BundleSources, kubectl: Path, build_cache: BuildCache
) -> Iterator[tuple[str, Path, GoModule]]:
    """Yields the name in the sources map, the file, and the module that it comes from."""
    for name, taken in MODULE_MANIFESTS.items():
        module = sources.modules[taken.module]
        image = sources.images[name]
        file_name = manifest_file_name(name)
        make = _maker(taken, module, image, file_name, kubectl, build_cache)
        made = build_cache.build_once(f"manifest-{name}", [repr(taken), repr(module), image, OVERLAY], make)
        yield name, made / file_name, module


def manifest_file_name(name: str) -> str:
    return f"{name.replace('_', '-')}.yaml"


def join_documents(texts: list[str], image: str) -> str:
    """Joins the documents. Images without a tag get the one of `image`, because they would be whatever is newest."""
    bare = image.rsplit(":", 1)[0]
    text = "---\n".join(each.rstrip("\n") + "\n" for each in texts)
    return "".join(
        line.replace(bare, image) if line.strip().removeprefix("- ") == f"image: {bare}" else line
        for line in text.splitlines(keepends=True)
    )


def _maker(
    taken: ModuleManifest,
    module: GoModule,
    image: str,
    file_name: str,
    kubectl: Path,
    build_cache: BuildCache,
) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        place = find_module_folder(module, FOLDERS / taken.module, build_cache)
        if taken.files:
            text = join_documents([(place / file).read_text() for file in taken.files], image)
        else:
            text = _kustomize(place, image, folder / "work", kubectl, build_cache)
        (folder / file_name).write_text(text)

    return make


def _kustomize(place: Path, image: str, work: Path, kubectl: Path, build_cache: BuildCache) -> str:
    """Copies the module's folder first, because the original is read-only and kustomize reads only below its own
    folder.
    """
    shutil.copytree(place / "config", work / "config", copy_function=shutil.copyfile)
    name, tag = image.rsplit(":", 1)
    (work / "kustomization.yaml").write_text(OVERLAY.format(name=name, tag=tag))
    text = build_cache.run([kubectl, "kustomize", work])
    shutil.rmtree(work)
    return text
