"""The code of two versions is compared file by file, as text."""

from pathlib import Path

from portal.job_files import code_difference
from portal.job_files.code_difference import CodeVersionFolder, compare_code

BEFORE, AFTER = CodeVersionFolder(1, 2, 1), CodeVersionFolder(1, 2, 2)


def write(root: Path, version: CodeVersionFolder, name: str, content: bytes) -> None:
    path = root.joinpath(*version.parts, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def test_changed_new_and_removed_lines_are_shown_also_in_folders(tmp_path: Path) -> None:
    write(tmp_path, BEFORE, "train.py", b"a\nb\n")
    write(tmp_path, AFTER, "train.py", b"a\nc\n")
    write(tmp_path, AFTER, "lib/new.py", b"x\n")
    write(tmp_path, BEFORE, "same.py", b"s\n")
    write(tmp_path, AFTER, "same.py", b"s\n")
    found = compare_code(tmp_path, BEFORE, AFTER)
    assert [line for line in found.lines if line[:1] in "+-" and line[1:2] not in "+-"] == ["+x", "-b", "+c"]
    assert not any("same.py" in line for line in found.lines)


def test_what_is_no_text_or_too_large_is_only_named(tmp_path: Path) -> None:
    write(tmp_path, BEFORE, "weights.bin", b"\xff\x00")
    write(tmp_path, AFTER, "large.txt", b"x" * (code_difference.LARGEST_FILE + 1))
    found = compare_code(tmp_path, BEFORE, AFTER)
    assert (found.lines, found.uncompared) == ((), ("large.txt", "weights.bin"))


def test_links_are_not_followed_and_missing_code_is_empty(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("key")
    write(tmp_path, AFTER, "train.py", b"a\n")
    tmp_path.joinpath(*AFTER.parts, "link").symlink_to(tmp_path / "secret")
    found = compare_code(tmp_path, BEFORE, AFTER)
    assert not any("key" in line for line in found.lines)
    assert compare_code(tmp_path, BEFORE, BEFORE).is_empty


def test_a_long_difference_is_cut(tmp_path: Path) -> None:
    write(tmp_path, AFTER, "train.py", b"\n".join(b"%d" % number for number in range(2_000)))
    found = compare_code(tmp_path, BEFORE, AFTER)
    assert (len(found.lines), found.is_cut) == (code_difference.MAX_LINES, True)
