"""What a program wrote is listed and archived; what leads elsewhere is left out."""

import io
import os
import socket
import zipfile
from pathlib import Path

import pytest

from cluster.domain.errors import Refused
from cluster.files.safe_read import FileMissing, FileNotPlain
from portal.job_files import written_files
from portal.job_files.written_files import archive_files, list_files_below, list_folder, split_path


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """`out` with two plain files and everything that a hostile program could put beside them."""
    folder = tmp_path / "out"
    (folder / "results" / "fold-1").mkdir(parents=True)
    (folder / "predictions.csv").write_text("a,b\n")
    (folder / "results" / "fold-1" / "한글 이름.txt").write_text("값")
    secret = tmp_path / "secret"
    secret.write_text("of somebody else")
    (folder / "link").symlink_to(secret)
    (folder / "linked-folder").symlink_to(tmp_path)
    os.link(secret, folder / "second-name")
    os.mkfifo(folder / "pipe")
    with socket.socket(socket.AF_UNIX) as open_socket:
        open_socket.bind(str(folder / "socket"))
    return folder


def test_folders_come_first_and_only_plain_files_are_listed(out: Path) -> None:
    listing = list_folder(out.parent, "out")
    assert [(one.name, one.is_folder, one.size) for one in listing.entries] == [
        ("results", True, None),
        ("predictions.csv", False, 4),
    ]
    assert not listing.has_more


def test_a_long_folder_is_listed_in_part(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(written_files, "LISTED_ENTRIES", 1)
    listing = list_folder(out.parent, "out")
    assert len(listing.entries) == 1 and listing.has_more


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("nothing", FileMissing),
        ("..", FileMissing),
        ("results/../..", FileMissing),
        ("predictions.csv", FileNotPlain),
        ("linked-folder", FileNotPlain),
        ("pipe", FileNotPlain),
    ],
)
def test_no_path_leads_out_of_the_folder(out: Path, path: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        list_folder(out.parent, "out", *split_path(path))
    with pytest.raises(error):
        list_files_below(out.parent, "out", *split_path(path))


def test_an_archive_has_the_plain_files_alone_as_they_are(out: Path) -> None:
    paths = list_files_below(out.parent, "out")
    assert paths == [("predictions.csv",), ("results", "fold-1", "한글 이름.txt")]
    archive = zipfile.ZipFile(io.BytesIO(b"".join(archive_files(out.parent, ("out",), paths))))
    assert archive.testzip() is None
    assert {name: archive.read(name).decode() for name in archive.namelist()} == {
        "predictions.csv": "a,b\n",
        "results/fold-1/한글 이름.txt": "값",
    }


def test_a_file_that_grows_or_goes_while_it_is_sent_leaves_a_whole_archive(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(written_files, "CHUNK_BYTES", 2)
    paths = list_files_below(out.parent, "out")
    pieces = archive_files(out.parent, ("out",), paths)
    sent = [next(pieces)]
    with (out / "predictions.csv").open("a") as file:
        file.write("more")
    (out / "results" / "fold-1" / "한글 이름.txt").unlink()
    archive = zipfile.ZipFile(io.BytesIO(b"".join([*sent, *pieces])))
    assert archive.testzip() is None and archive.namelist() == ["predictions.csv"]
    assert archive.read("predictions.csv") == b"a,b\n"


@pytest.mark.parametrize(
    ("limit", "code"), [("ARCHIVED_FILES", "archive_too_large"), ("DEEPEST_FOLDER", "archive_too_deep")]
)
def test_too_much_for_an_archive_is_refused_before_anything_is_sent(
    out: Path, limit: str, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(written_files, limit, 1)
    with pytest.raises(Refused) as refused:
        list_files_below(out.parent, "out")
    assert refused.value.code == f"job.{code}"


def test_a_name_that_is_no_text_does_not_break_the_archive(out: Path) -> None:
    (out / os.fsdecode(b"bad-\xff.bin")).write_bytes(b"x")
    paths = list_files_below(out.parent, "out")
    archive = zipfile.ZipFile(io.BytesIO(b"".join(archive_files(out.parent, ("out",), paths))))
    assert "bad-?.bin" in archive.namelist()
