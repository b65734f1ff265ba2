"""What CUDA's wheels leave to do: names that a compiler looks for, and folders that the loader has to know."""

import shutil
from pathlib import Path

from worker.environments.steps import Progress
from worker.images.description import PLACE
from worker.images.python import pip_install
from worker.images.root import WORKSHOP, Root

NVIDIA = "lib/python3*/site-packages/nvidia"


def lay_out(root: Root, requirements: Path, progress: Progress) -> None:
    """/mnt/cuda with nvcc, /mnt/nccl with the image's own NCCL, as Horovod's build wants them."""
    workshop = root.workshop
    shutil.copy(requirements, workshop / "compiler.txt")
    pip_install(root, "compiler.txt", progress, WORKSHOP / "cuda")
    for toolkit in (workshop / "cuda" / "nvidia").glob("cu*"):
        (toolkit / "lib64").symlink_to("lib")
        link_plain_names(toolkit / "lib")
        for program in [*(toolkit / "bin").glob("*"), *(toolkit / "nvvm" / "bin").glob("*")]:
            program.chmod(0o755)
    lend_nccl(root.path, workshop / "nccl")


def lend_nccl(root: Path, folder: Path) -> None:
    """Links to where NCCL is inside, for wheels have no libnccl.so without a number."""
    (nccl,) = (root / PLACE.relative_to("/")).glob(f"{NVIDIA}/nccl")
    (folder / "lib").mkdir(parents=True)
    inside = Path("/") / nccl.relative_to(root)
    (folder / "include").symlink_to(inside / "include")
    (folder / "lib" / "libnccl.so").symlink_to(inside / "lib" / "libnccl.so.2")


def link_plain_names(folder: Path) -> None:
    """libcudart.so beside libcudart.so.13."""
    for library in folder.glob("*.so.*"):
        plain = folder / f"{library.name.partition('.so.')[0]}.so"
        if not plain.exists():
            plain.symlink_to(library.name)


def let_the_loader_find(root: Root, progress: Progress) -> None:
    """Where the wheels brought libraries of NVIDIA, every program finds them; nothing is done otherwise."""
    folders = sorted((root.path / PLACE.relative_to("/")).glob(f"{NVIDIA}/*/lib"))
    if not folders:
        return
    lines = [f"/{folder.relative_to(root.path)}\n" for folder in folders]
    (root.path / "etc" / "ld.so.conf.d" / "groundcrew.conf").write_text("".join(lines))
    root.run(["ldconfig"], variables={}, on_tick=progress.tick)
