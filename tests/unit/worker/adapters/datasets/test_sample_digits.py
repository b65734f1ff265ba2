"""The sample digits appear whole or not at all, whatever happens to their writing."""

from pathlib import Path

import pytest

from worker.adapters.datasets.sample_digits import DIGIT_IMAGES, SampleDigitsFailed, write_sample_digits

PROGRAM = """#!/bin/sh
folder=$4
mkdir -p "$folder/0" && echo pixels > "$folder/0/digit-0000.png"
{rest}
"""


class Interrupted(Exception):
    """What a task raises when it has lost its lease."""


def environment(folder: Path, rest: str) -> Path:
    python = folder / "environment" / "bin" / "python"
    python.parent.mkdir(parents=True, exist_ok=True)
    python.write_text(PROGRAM.format(rest=rest))
    python.chmod(0o755)
    return folder / "environment"


def test_the_folder_appears_whole(tmp_path: Path) -> None:
    shares: list[float] = []
    whole = environment(tmp_path, f"echo 100; echo {DIGIT_IMAGES}")
    assert write_sample_digits(whole, tmp_path / "data" / "digits", shares.append) == DIGIT_IMAGES
    assert (tmp_path / "data" / "digits" / "0" / "digit-0000.png").read_text() == "pixels\n"
    assert shares == [100 / DIGIT_IMAGES, 1.0]
    assert (tmp_path / "data" / "digits").stat().st_mode & 0o777 == 0o755


def test_what_stands_is_left_alone_and_an_empty_folder_is_filled(tmp_path: Path) -> None:
    (tmp_path / "digits").mkdir()
    write_sample_digits(environment(tmp_path, f"echo {DIGIT_IMAGES}"), tmp_path / "digits")
    write_sample_digits(environment(tmp_path, "exit 1"), tmp_path / "digits")
    assert (tmp_path / "digits" / "0").is_dir()


@pytest.mark.parametrize(
    "rest", ["echo 'no module named sklearn'; exit 1", "echo 100", f"echo {DIGIT_IMAGES}; exit 3"]
)
def test_a_failure_leaves_nothing_and_says_why(tmp_path: Path, rest: str) -> None:
    with pytest.raises(SampleDigitsFailed) as failure:
        write_sample_digits(environment(tmp_path, rest), tmp_path / "data" / "digits")
    assert failure.value.data["line"] in rest
    assert list((tmp_path / "data").iterdir()) == []


def test_an_interruption_leaves_nothing_and_the_next_one_sweeps(tmp_path: Path) -> None:
    def report(_: float) -> None:
        raise Interrupted

    (tmp_path / "data" / ".digits.partial-killed").mkdir(parents=True)
    slow = environment(tmp_path, "echo 100; exec sleep 600")
    with pytest.raises(Interrupted):
        write_sample_digits(slow, tmp_path / "data" / "digits", report)
    assert list((tmp_path / "data").iterdir()) == []
