"""A working copy becomes the next version of the code; what its programs put in the way is not followed."""

import os

import pytest

from cluster.domain.code_files import LARGEST_CODE_BYTES
from cluster.domain.errors import Conflict, Forbidden, Refused
from cluster.domain.states import CodeSource
from cluster.services import code_versions, trainings
from cluster.services.notebooks import working_copies
from cluster.services.notebooks.working_copies import InstalledPackage, SavedCopy
from cluster.store.trainings import CodeVersion, WorkingCopy
from tests.notebook_lab import CODE, NotebookLab


@pytest.fixture
def copy(lab: NotebookLab) -> NotebookLab:
    """With the files of version 1."""
    lab.start()
    lab.write(dict(CODE))
    return lab


def save(lab: NotebookLab, overwrite: bool = False) -> SavedCopy:
    return working_copies.save_as_version(lab.cluster, lab.actor(), lab.training.id, overwrite)


def paths(lab: NotebookLab, version: int) -> list[str]:
    training = trainings.read_training(lab.cluster, lab.actor(), lab.training.id)
    return [path for path, _ in trainings.list_code_files(lab.cluster, training, version)]


def test_changed_new_and_removed_files_are_the_next_version(copy: NotebookLab) -> None:
    folder = copy.write({"train.py": b"print(2)\n", "look.ipynb": b"{}", ".ipynb_checkpoints/x.ipynb": b"{}"})
    (folder / "files" / "net" / "model.py").unlink()
    assert save(copy) == SavedCopy(2, is_new=True)
    assert paths(copy, 2) == ["look.ipynb", "train.py"] and paths(copy, 1) == [path for path, _ in CODE]
    with copy.cluster.store.read() as session:
        made = session.get_one(CodeVersion, (copy.training.id, 2))
        assert (made.source, made.created_by) == (CodeSource.NOTEBOOK, copy.owner.id)
        assert session.get_one(WorkingCopy, (copy.training.id, copy.owner.id)).code_version == 2


def test_unchanged_files_make_no_version(copy: NotebookLab) -> None:
    assert save(copy) == SavedCopy(1, is_new=False)


def test_a_newer_version_of_somebody_else_is_not_replaced_unasked(copy: NotebookLab) -> None:
    trainings.upload_code(copy.cluster, copy.actor(), copy.training.id, [("theirs.py", b"1\n")])
    copy.write({"train.py": b"mine\n"})
    with pytest.raises(Conflict) as conflict:
        save(copy)
    assert (conflict.value.data["newest"], conflict.value.data["base"]) == (2, 1)
    assert save(copy, overwrite=True).version == 3
    assert "theirs.py" not in paths(copy, 3) and "theirs.py" in paths(copy, 2)


def test_links_and_pipes_are_left_out(copy: NotebookLab) -> None:
    files = copy.write({"train.py": b"print(3)\n"}) / "files"
    (files / "passwd.py").symlink_to("/etc/passwd")
    (files / "etc").symlink_to("/etc")
    os.mkfifo(files / "pipe.py")
    os.link(files / "train.py", files / "hard.py")
    files.joinpath("train.py").unlink()
    files.joinpath("train.py").write_bytes(b"print(4)\n")
    assert save(copy).is_new
    assert {"passwd.py", "pipe.py"}.isdisjoint(paths(copy, 2)) and not [
        path for path in paths(copy, 2) if path.startswith("etc/")
    ]


@pytest.mark.parametrize("is_folder", [True, False])
def test_a_file_that_may_not_be_read_is_named_in_text(
    copy: NotebookLab, is_folder: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its name need not be text. Root, which these tests may be, would be let in."""
    closed = copy.write({}) / "files" / os.fsdecode(b"caf\xe9")
    (closed.mkdir if is_folder else closed.touch)()
    opened = os.open

    def refuse(path: str, flags: int, *args: int, **named: int) -> int:
        if path == closed.name:
            raise PermissionError if is_folder or not flags & os.O_DIRECTORY else NotADirectoryError
        return opened(path, flags, *args, **named)

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(Refused) as refused:
        save(copy)
    assert refused.value.code == "notebook.unreadable"
    assert refused.value.data["file"] == "caf\\udce9"


def test_a_folder_that_became_a_link_is_not_read(copy: NotebookLab) -> None:
    folder = copy.write({})
    (folder / "files").rename(folder / "elsewhere")
    (folder / "files").symlink_to(folder / "elsewhere")
    with pytest.raises(Refused):
        save(copy)


def test_the_limits_are_those_of_code(copy: NotebookLab) -> None:
    large = copy.write({}) / "files" / "large.bin"
    with large.open("wb") as file:
        file.truncate(LARGEST_CODE_BYTES + 1)
    with pytest.raises(Refused) as refused:
        save(copy)
    assert refused.value.code == "code.too_large"


def test_who_may_not_upload_saves_nothing(copy: NotebookLab) -> None:
    copy.start(copy.member)
    copy.write(dict(CODE), copy.member)
    with pytest.raises(Forbidden):
        working_copies.save_as_version(copy.cluster, copy.actor(copy.member), copy.training.id)


def test_without_a_notebook_there_is_nothing_to_save(lab: NotebookLab) -> None:
    with pytest.raises(Refused) as refused:
        save(lab)
    assert refused.value.code == "notebook.no_files"
    training = trainings.read_training(lab.cluster, lab.actor(), lab.training.id)
    assert working_copies.list_packages(lab.cluster, training, lab.owner.id) == []
    assert code_versions.read_newest_number(lab.cluster, training.id) == 1


def test_packages_are_listed_by_what_pip_has_written(copy: NotebookLab) -> None:
    site = "lib/python3.11/site-packages"
    written = {f"{site}/humanize-4.17.0.dist-info/METADATA": b"", f"{site}/humanize/__init__.py": b""}
    copy.write(written | {f"{site}/<b>-1.dist-info/METADATA": b"", "lib/other/x": b""}, below="packages")
    training = trainings.read_training(copy.cluster, copy.actor(), copy.training.id)
    found = working_copies.list_packages(copy.cluster, training, copy.owner.id)
    assert found == [InstalledPackage("humanize", "4.17.0")]
