"""Archives as they come: good ones arrive whole, bad ones are refused and nothing lies outside."""

import io
import stat
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from cluster.domain.errors import Refused
from cluster.domain.storage.upload_archives import ArchiveChecker, ArchiveLimits
from worker.adapters.datasets.upload_archives import unpack_upload_archive


def a_tar(path: Path, mode: str, *members: tuple[tarfile.TarInfo, bytes]) -> None:
    with tarfile.open(path, mode) as archive:
        for info, content in members:
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


def a_zip(path: Path, *entries: tuple[str, bytes, int]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content, mode in entries:
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, content)


def run(archive: Path, folder: Path, limits: ArchiveLimits | None = None) -> int:
    folder.mkdir()
    verdict = ArchiveChecker(archive.stat().st_size, limits or ArchiveLimits())
    return unpack_upload_archive(archive, archive.name, folder, verdict, lambda share: None)


GOOD = {"0/a.png": b"a" * 10, "1/b.png": b"b" * 3_000_000, "readme.txt": b""}


@pytest.mark.parametrize("ending", ["zip", "tar", "tar.gz", "tgz", "tar.bz2", "tar.xz"])
def test_a_good_archive_arrives_whole(tmp_path: Path, ending: str) -> None:
    archive = tmp_path / f"good.{ending}"
    if ending == "zip":
        a_zip(archive, *((name, content, 0o100755) for name, content in GOOD.items()), ("0/", b"", 0o40755))
    else:
        packing = {"tar": "w", "tgz": "w:gz"}.get(ending) or f"w:{ending.split('.')[1]}"
        members = [(member(name), content) for name, content in GOOD.items()]
        a_tar(archive, packing, (member("./0", tarfile.DIRTYPE), b""), *members)
    shares: list[float] = []
    target = tmp_path / "out"
    target.mkdir()
    verdict = ArchiveChecker(archive.stat().st_size)
    assert unpack_upload_archive(archive, archive.name, target, verdict, shares.append) == 3
    found = {str(path.relative_to(target)): path.read_bytes() for path in target.rglob("*") if path.is_file()}
    assert found == GOOD
    assert shares == sorted(shares) and shares[-1] <= 1.0
    assert stat.S_IMODE((target / "0/a.png").stat().st_mode) & 0o111 == 0


def test_bad_names_are_all_told_and_nothing_more_is_written(tmp_path: Path) -> None:
    archive = tmp_path / "shapes.zip"
    a_zip(archive, ("원/1.png", b"1", 0o100644), ("a.txt", b"1", 0o100644), ("네모/1.png", b"1", 0o100644))
    with pytest.raises(Refused, match="archive.bad_names") as refusal:
        run(archive, tmp_path / "out")
    assert refusal.value.data["names"] == ["원", "네모"]
    assert list((tmp_path / "out").rglob("*")) == []
    target = tmp_path / "latin"
    target.mkdir()
    verdict = ArchiveChecker(archive.stat().st_size, latin_names=True)
    assert unpack_upload_archive(archive, archive.name, target, verdict, lambda share: None) == 3
    assert sorted(path.name for path in target.iterdir()) == ["a.txt", "nemo", "weon"]


BAD_TARS: list[tuple[str, tarfile.TarInfo]] = [
    ("archive.outside", member("../outside")),
    ("archive.outside", member("a/../../outside")),
    ("archive.absolute", member("/tmp/outside")),
    ("archive.link", member("link", tarfile.SYMTYPE, "/etc/passwd")),
    ("archive.link", member("hard", tarfile.LNKTYPE, "good")),
    ("archive.device", member("null", tarfile.CHRTYPE)),
    ("archive.device", member("pipe", tarfile.FIFOTYPE)),
    ("archive.twice", member("good")),
    ("archive.file_and_folder", member("good/inside")),
    ("archive.backslash", member("a\\b")),
]


@pytest.mark.parametrize(("code", "bad"), BAD_TARS)
def test_one_bad_entry_refuses_the_archive(tmp_path: Path, code: str, bad: tarfile.TarInfo) -> None:
    archive = tmp_path / "bad.tar"
    a_tar(archive, "w", (member("good"), b"good"), (bad, b""))
    with pytest.raises(Refused) as refused:
        run(archive, tmp_path / "out")
    assert refused.value.code == code
    assert not (tmp_path / "outside").exists()


def test_a_link_in_a_zip_is_refused(tmp_path: Path) -> None:
    archive = tmp_path / "bad.zip"
    a_zip(archive, ("link", b"/etc/passwd", stat.S_IFLNK | 0o777))
    with pytest.raises(Refused, match="archive.link"):
        run(archive, tmp_path / "out")


def test_a_bomb_is_stopped_while_it_unpacks(tmp_path: Path) -> None:
    archive = tmp_path / "bomb.zip"
    a_zip(archive, ("zeros", b"\0" * 5_000_000, 0o100644))
    with pytest.raises(Refused, match="archive.too_dense"):
        run(archive, tmp_path / "out", ArchiveLimits(ratio=10, ratio_from=100_000))


def test_a_zip_that_lies_about_its_size_is_stopped(tmp_path: Path) -> None:
    archive = tmp_path / "lies.zip"
    a_zip(archive, ("zeros", b"\0" * 3_000_000, 0o100644))
    raw = archive.read_bytes()
    archive.write_bytes(raw.replace((3_000_000).to_bytes(4, "little"), (10).to_bytes(4, "little")))
    with pytest.raises(Refused):
        run(archive, tmp_path / "out")
    assert sum(path.stat().st_size for path in (tmp_path / "out").iterdir()) <= 10


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip(path: Path) -> None:
    raw = bytearray(path.read_bytes())
    for position in range(60, min(len(raw), 2000), 7):
        raw[position] ^= 0xFF
    path.write_bytes(raw)


def replace(path: Path) -> None:
    path.write_bytes(b"this is no archive at all" * 100)


@pytest.mark.parametrize("ending", ["zip", "tar", "tar.gz", "tar.bz2", "tar.xz"])
@pytest.mark.parametrize("harm", [truncate, flip, replace])
def test_a_damaged_archive_is_refused_and_no_crash(
    tmp_path: Path, ending: str, harm: Callable[[Path], None]
) -> None:
    archive = tmp_path / f"damaged.{ending}"
    content = bytes(range(256)) * 400
    if ending == "zip":
        a_zip(archive, ("a", content, 0o100644), ("b", content[::-1], 0o100644))
    else:
        packing = {"tar": "w"}.get(ending) or f"w:{ending.split('.')[1]}"
        a_tar(archive, packing, (member("a"), content), (member("b"), content[::-1]))
    harm(archive)
    with pytest.raises(Refused):
        run(archive, tmp_path / "out")


def test_an_encrypted_zip_is_refused(tmp_path: Path) -> None:
    archive = tmp_path / "secret.zip"
    a_zip(archive, ("a", b"content", 0o100644))
    raw = bytearray(archive.read_bytes())
    for header, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        raw[raw.index(header) + offset] |= 1
    archive.write_bytes(raw)
    with pytest.raises(Refused, match="archive.encrypted"):
        run(archive, tmp_path / "out")


def test_an_empty_archive_is_refused(tmp_path: Path) -> None:
    archive = tmp_path / "empty.zip"
    a_zip(archive)
    with pytest.raises(Refused, match="archive.empty"):
        run(archive, tmp_path / "out")
