"""Writes scikit-learn's handwritten digits as a dataset of images, by the training environment's Python."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

from cluster.domain.errors import Unavailable
from cluster.files import safe_files

PROGRAM = Path(__file__).resolve().parents[2] / "models" / "sample_digits.py"
DIGIT_IMAGES = 1797


class SampleDigitsFailed(Unavailable):
    """The program that writes the images has failed. `line` is the last line of its output."""


def write_sample_digits(
    environment: Path, folder: Path, report: Callable[[float], None] = lambda _: None
) -> int:
    """Write 1797 PNG files into one folder per digit, and a README.txt beside them; returns how many images.

    `environment` is a built training environment. The folder appears only when it is complete. If it is not empty,
    nothing is written. The same environment writes the same bytes. An exception of `report` ends the writing.
    """
    if folder.exists() and any(folder.iterdir()):
        return DIGIT_IMAGES
    folder.parent.mkdir(parents=True, exist_ok=True)
    beginning = f".{folder.name}.partial-"
    with safe_files.open_folder_path(folder.parent) as parent:
        for left in safe_files.list_names(parent):
            if left.startswith(beginning):
                safe_files.remove_tree(parent, left)
        partial = beginning + os.urandom(4).hex()
        os.close(safe_files.make_folder(parent, partial, 0o755))
        try:
            _run(environment / "bin" / "python", folder.with_name(partial), report)
            safe_files.move_at(parent, partial, parent, folder.name)
        finally:
            safe_files.remove_tree(parent, partial)
    return DIGIT_IMAGES


def _run(python: Path, folder: Path, report: Callable[[float], None]) -> None:
    said = ""
    with subprocess.Popen(
        [python, "-I", "-B", PROGRAM, folder],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
        umask=0o022,
    ) as program:
        try:
            for line in program.stdout or ():
                said = line.strip() or said
                if said.isdecimal():
                    report(int(said) / DIGIT_IMAGES)
        except BaseException:
            program.kill()
            raise
    if program.returncode != 0 or said != str(DIGIT_IMAGES):
        raise SampleDigitsFailed("dataset.digits_not_written", line=said[:300])
