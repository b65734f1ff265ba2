"""A script that would fail at its start is refused before anything waits, and the sentence says what to write."""

import pytest

from cluster.domain.errors import Refused
from cluster.domain.jobs.scripts import check_script, default_script, list_scripts

FILES = ("data.json", "eval.py", "lib/train.py", "run.sh", "train.py", "two words.py")


@pytest.mark.parametrize(
    "command",
    [
        ("train.py",),
        ("./train.py", "--lr", "0.1"),
        ("lib/train.py",),
        ("two words.py",),
        ("python", "train.py"),
        ("python3", "-m", "lib.train"),
        ("bash", "run.sh"),
        ("./run.sh",),
        ("/opt/tools/train.py",),
        ("nvidia-smi",),
    ],
)
def test_files_of_the_version_and_commands_of_the_node_are_taken(command: tuple[str, ...]) -> None:
    check_script(command, FILES, 3)


@pytest.mark.parametrize(
    ("command", "code", "data"),
    [
        (
            ("train.py --lr 0.1",),
            "job.script_with_arguments",
            {"script": "train.py", "arguments": "--lr 0.1"},
        ),
        (("python train.py",), "job.script_with_python", {"script": "train.py"}),
        (("python -m lib",), "job.script_with_arguments", {"script": "python", "arguments": "-m lib"}),
        (("trian.py",), "job.script_not_there", {"script": "trian.py", "near": "train.py"}),
        (("../train.py",), "job.script_not_there", {"script": "../train.py"}),
        (("lib/run.sh",), "job.script_not_there", {"script": "lib/run.sh"}),
        (("python", "nonexist.py"), "job.script_not_there", {"script": "nonexist.py", "version": 3}),
        (("run.sh",), "job.script_without_command", {"script": "run.sh"}),
    ],
)
def test_what_would_fail_at_its_start_is_refused(
    command: tuple[str, ...], code: str, data: dict[str, object]
) -> None:
    with pytest.raises(Refused) as refused:
        check_script(command, FILES, 3)
    assert (refused.value.field, refused.value.code) == ("command", code)
    assert data.items() <= refused.value.data.items()


def test_where_the_files_are_unknown_nothing_is_said_of_them() -> None:
    check_script(("nonexist.py",), (), 0)
    with pytest.raises(Refused):
        check_script(("python nonexist.py",), (), 0)


def test_the_mark_of_a_package_is_no_script() -> None:
    files = ("train.py", "model/__init__.py")
    assert (list_scripts(files), default_script(files)) == (["train.py"], "train.py")
    check_script(("model/__init__.py",), files, 1)


def test_only_a_single_script_is_preset() -> None:
    assert list_scripts(FILES) == ["eval.py", "train.py", "two words.py", "lib/train.py"]
    assert (default_script(FILES), default_script(("a.txt", "only.py")), default_script(())) == (
        "",
        "only.py",
        "",
    )
