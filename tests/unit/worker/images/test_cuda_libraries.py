"""CUDA's wheels are laid out as a compiler wants them, and its libraries are known to the loader."""

from pathlib import Path

from tests.unit.worker.images.recorded_root import recorded_root, some_progress
from worker.images.cuda_libraries import configure_loader, lay_out_toolkit, link_nccl, link_plain_names
from worker.images.description import ENVIRONMENT_PATH

SITE = Path(str(ENVIRONMENT_PATH.relative_to("/")), "lib/python3.11/site-packages/nvidia")


def test_libraries_have_a_name_without_a_number(tmp_path: Path) -> None:
    for name in ("libcudart.so.13", "libcublas.so.13", "libcublas.so", "readme"):
        (tmp_path / name).write_text(name)
    link_plain_names(tmp_path)
    assert (tmp_path / "libcudart.so").readlink() == Path("libcudart.so.13")
    assert (tmp_path / "libcublas.so").read_text() == "libcublas.so"
    assert not (tmp_path / "readme.so").exists()


def test_nccl_is_where_it_is_inside(tmp_path: Path) -> None:
    (tmp_path / "root" / SITE / "nccl").mkdir(parents=True)
    link_nccl(tmp_path / "root", tmp_path / "nccl")
    assert (tmp_path / "nccl/include").readlink() == Path("/") / SITE / "nccl/include"
    assert (tmp_path / "nccl/lib/libnccl.so").readlink() == Path("/") / SITE / "nccl/lib/libnccl.so.2"


def test_the_toolkit_has_its_programs_and_both_names_of_its_libraries(tmp_path: Path) -> None:
    root = recorded_root(tmp_path)
    (root.path / SITE / "nccl").mkdir(parents=True)
    toolkit = root.work_dir / "cuda/nvidia/cu13"
    for file in ("bin/nvcc", "nvvm/bin/cicc", "lib/libcudart.so.13"):
        (toolkit / file).parent.mkdir(parents=True, exist_ok=True)
        (toolkit / file).touch(0o600)
    (tmp_path / "compiler.txt").write_text("nvidia-cuda-nvcc==13.0\n")
    lay_out_toolkit(root, tmp_path / "compiler.txt", some_progress())
    assert (root.work_dir / "compiler.txt").read_text() == "nvidia-cuda-nvcc==13.0\n"
    assert root.calls[0][0][-2:] == ["--requirements", "/mnt/compiler.txt"]
    assert {(toolkit / file).stat().st_mode & 0o777 for file in ("bin/nvcc", "nvvm/bin/cicc")} == {0o755}
    assert (toolkit / "lib64/libcudart.so").exists() and (root.work_dir / "nccl/include").is_symlink()


def test_the_loader_knows_every_folder_of_libraries(tmp_path: Path) -> None:
    root = recorded_root(tmp_path)
    (root.path / "etc/ld.so.conf.d").mkdir(parents=True)
    configure_loader(root, some_progress())
    assert root.calls == [] and not list((root.path / "etc/ld.so.conf.d").iterdir())
    for name in ("nccl", "cublas"):
        (root.path / SITE / name / "lib").mkdir(parents=True)
    configure_loader(root, some_progress())
    lines = (root.path / "etc/ld.so.conf.d/groundcrew.conf").read_text().splitlines()
    assert lines == [f"/{SITE}/cublas/lib", f"/{SITE}/nccl/lib"]
    assert root.calls[0][0] == ["ldconfig"]
