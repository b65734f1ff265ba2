"""Lay out CUDA's wheels for the compiler and register their libraries with the dynamic loader."""

import shutil
from pathlib import Path

from worker.environments.build_steps import BuildStepProgress
from worker.images.description import ENVIRONMENT_PATH
from worker.images.python_environment import uv_install
from worker.images.root_filesystem import WORK_MOUNT, RootFilesystem

NVIDIA = "lib/python3*/site-packages/nvidia"


def lay_out_toolkit(root: RootFilesystem, requirements: Path, progress: BuildStepProgress) -> None:
    """Creates /mnt/cuda with nvcc and /mnt/nccl with the image's own NCCL, as Horovod's build expects them."""
    workshop = root.work_dir
    shutil.copy(requirements, workshop / "compiler.txt")
    uv_install(root, "compiler.txt", progress, WORK_MOUNT / "cuda")
    for toolkit in (workshop / "cuda" / "nvidia").glob("cu*"):
        (toolkit / "lib64").symlink_to("lib")
        link_plain_names(toolkit / "lib")
        link_runtime(root.path, toolkit / "lib" / "libcudart.so")
        for program in [*(toolkit / "bin").glob("*"), *(toolkit / "nvvm" / "bin").glob("*")]:
            program.chmod(0o755)
    link_nccl(root.path, workshop / "nccl")


def link_runtime(root: Path, plain: Path) -> None:
    """Lets the linker use the image's own CUDA runtime, because programs in the image will load the libraries that it
    names.
    """
    for library in (root / ENVIRONMENT_PATH.relative_to("/")).glob(
        f"{NVIDIA}/cuda_runtime/lib/libcudart.so.*"
    ):
        plain.unlink(missing_ok=True)
        plain.symlink_to(Path("/") / library.relative_to(root))


def link_nccl(root: Path, folder: Path) -> None:
    """Links `folder` to the NCCL inside the image; the wheel has no libnccl.so without a number."""
    (nccl,) = (root / ENVIRONMENT_PATH.relative_to("/")).glob(f"{NVIDIA}/nccl")
    (folder / "lib").mkdir(parents=True)
    inside = Path("/") / nccl.relative_to(root)
    (folder / "include").symlink_to(inside / "include")
    (folder / "lib" / "libnccl.so").symlink_to(inside / "lib" / "libnccl.so.2")


def link_plain_names(folder: Path) -> None:
    """Creates a link without a number for each numbered library: libcudart.so for libcudart.so.13."""
    for library in folder.glob("*.so.*"):
        plain = folder / f"{library.name.partition('.so.')[0]}.so"
        if not plain.exists():
            plain.symlink_to(library.name)


def configure_loader(root: RootFilesystem, progress: BuildStepProgress) -> None:
    """Registers the NVIDIA libraries of the wheels with the dynamic loader. Does nothing if there are none."""
    folders = sorted((root.path / ENVIRONMENT_PATH.relative_to("/")).glob(f"{NVIDIA}/*/lib"))
    if not folders:
        return
    lines = [f"/{folder.relative_to(root.path)}\n" for folder in folders]
    (root.path / "etc" / "ld.so.conf.d" / "groundcrew.conf").write_text("".join(lines))
    root.run_inside(["ldconfig"], variables={}, on_tick=progress.report_again)
