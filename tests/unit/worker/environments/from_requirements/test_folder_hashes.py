"""Pins without hashes get those of the files in the folders."""

import hashlib
from pathlib import Path

import pytest

from worker.environments.from_requirements.folder_hashes import add_folder_hashes

FILES = (
    "lower-2.0-py3-none-any.whl",
    "lower-2.0-cp311-cp311-linux_x86_64.whl",
    "lower-2.1-py3-none-any.whl",
    "Py_YAML-6.0.2.tar.gz",
    "torch-2.7.1+cpu-cp311-cp311-linux_x86_64.whl",
    "README.txt",
    "broken.whl",
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in FILES:
        (tmp_path / name).write_text(name)
    return tmp_path


def hashes(*names: str) -> str:
    sums = sorted(hashlib.sha256(name.encode()).hexdigest() for name in names)
    return "".join(f" \\\n    --hash=sha256:{each}" for each in sums)


@pytest.mark.parametrize(
    ("pin", "files"),
    [
        ("lower==2.0", FILES[:2]),
        ("lower==2.0.0", FILES[:2]),
        ("lower==2.1", FILES[2:3]),
        ("py-yaml==6.0.2", FILES[3:4]),
        ("lower[extra]==2.1 ; python_version > '3'", FILES[2:3]),
        ("torch==2.7.1+cpu", FILES[4:5]),
        ("torch==2.7.1", ()),
        ("absent==1.0", ()),
    ],
)
def test_a_pin_gets_the_hashes_of_its_files(folder: Path, pin: str, files: tuple[str, ...]) -> None:
    assert add_folder_hashes(f"{pin}\n", [folder]) == f"{pin}{hashes(*files)}\n"


def test_hashes_that_are_there_stay_alone(folder: Path) -> None:
    pins = f"lower==2.0 \\\n    --hash=sha256:{'a' * 64} \\\n    --hash=sha256:{'b' * 64}\nlower==2.1\n"
    assert add_folder_hashes(pins, [folder]) == pins.removesuffix("\n") + hashes(FILES[2]) + "\n"
