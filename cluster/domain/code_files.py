"""Check the files of a training's code, and plan the next version from the one before."""

import hashlib
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from cluster.domain.errors import Refused
from cluster.domain.names import check_file_path

LARGEST_CODE_BYTES = 20 * 1024**2
"""The limit for all files of one version together."""
MAX_CODE_FILES = 1000
DEEPEST_CODE = 16
ARCHIVE_ENDINGS = (".zip",)
IGNORED_NAMES = frozenset(
    {".git", ".hg", ".svn", "__pycache__", "__MACOSX", ".ipynb_checkpoints", ".venv", "venv", ".mypy_cache"}
    | {".pytest_cache", ".ruff_cache", ".DS_Store", "Thumbs.db"}
)
"""Folders and files that programs write beside code. They are left out of every upload."""
IGNORED_ENDINGS = (".pyc", ".pyo")
LARGEST_EDITED_BYTES = 256 * 1024
"""The limit for a file that is edited in the browser."""


@dataclass(frozen=True)
class CodeFile:
    """One file of a version. `path` is relative with slashes, `sha256` is hexadecimal."""

    path: str
    size: int
    sha256: str


@dataclass(frozen=True)
class CodeUpload:
    """Checked files, or the bytes of one archive, which a task unpacks."""

    files: Sequence[tuple[str, bytes]]
    archive_name: str = ""
    archive: bytes = b""


@dataclass(frozen=True)
class CodeChange:
    """The effect of an upload on the version before: it brings `added`, keeps `kept` and drops the other files."""

    added: tuple[str, ...]
    kept: tuple[str, ...]


def is_archive_name(name: str) -> bool:
    return name.lower().endswith(ARCHIVE_ENDINGS)


def check_code_path(path: str, unicode_names: bool) -> str:
    """The normalised relative path (NFC). Raises Refused on `code` for one that leads out of the code's folder."""
    text = unicodedata.normalize("NFC", path)
    if text.startswith("/"):
        raise Refused("code", "file.absolute", file=text[:120])
    parts = [part for part in text.split("/") if part not in ("", ".")]
    if len(parts) > DEEPEST_CODE:
        raise Refused("code", "code.too_deep", file=text[:120], most=DEEPEST_CODE)
    return check_file_path("/".join(parts), unicode_names, "code")


def digest_of(content: bytes) -> str:
    """The digest, in the form of `CodeFile.digest`."""
    return hashlib.sha256(content).hexdigest()


def is_ignored(path: str) -> bool:
    parts = path.split("/")
    return not IGNORED_NAMES.isdisjoint(parts) or path.endswith(IGNORED_ENDINGS) or parts[-1].startswith("._")


def find_wrapping_folder(paths: Sequence[str], archive_name: str) -> str:
    """The one folder of an archive that holds all of its code, if it has the archive's name: `net.zip` with nothing but
    `net/…`. Empty if there is no such folder.
    """
    tops = {path.split("/")[0] for path in paths}
    top = next(iter(tops)) if len(tops) == 1 else ""
    is_wrapping = top == archive_name.rsplit(".", 1)[0] and all("/" in path for path in paths)
    return top if is_wrapping else ""


def plan_code_change(
    before: Iterable[str], added: Sequence[str], removed: Collection[str] = (), replaces_all: bool = False
) -> CodeChange:
    """Files of the version before stay unless they are uploaded again or removed; a removed folder takes what is in it.

    Raises Refused on `code` for a path that is there twice, is both a file and a folder, or cannot be removed because
    it is not there, and for code without any Python script.
    """
    seen = set()
    for path in added:
        if path in seen:
            raise Refused("code", "code.twice", name=path)
        seen.add(path)
    paths = [] if replaces_all else sorted(before)
    for path in sorted(removed):
        if not any(is_at_or_below(each, path) for each in paths):
            raise Refused("code", "code.not_there", name=path[:200])
    kept = [
        path for path in paths if path not in seen and not any(is_at_or_below(path, one) for one in removed)
    ]
    check_code_paths([*added, *kept])
    return CodeChange(tuple(added), tuple(kept))


def is_at_or_below(path: str, place: str) -> bool:
    return path == place or path.startswith(f"{place}/")


def check_code_paths(paths: Sequence[str]) -> None:
    """Raises Refused on `code`."""
    if not paths:
        raise Refused("code", "code.missing")
    if len(paths) > MAX_CODE_FILES:
        raise Refused("code", "code.too_many_files", count=len(paths), limit=MAX_CODE_FILES)
    folders = {path[:place] for path in paths for place, sign in enumerate(path) if sign == "/"}
    for path in paths:
        if path in folders:
            raise Refused("code", "code.file_and_folder", name=path)
    if not any(path.endswith(".py") for path in paths):
        raise Refused("code", "code.no_script")


def check_code_size(sizes: Mapping[str, int]) -> int:
    """The bytes of all files together. Raises Refused on `code`."""
    total = sum(sizes.values())
    if total > LARGEST_CODE_BYTES:
        raise Refused("code", "code.too_large", bytes=total, limit=LARGEST_CODE_BYTES)
    return total


@dataclass(frozen=True)
class CodeDifference:
    """The changes from one version to another: the paths that were added, changed and removed."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]


def compare_manifests(before: Sequence[CodeFile], after: Sequence[CodeFile]) -> CodeDifference:
    old, new = ({file.path: file.sha256 for file in files} for files in (before, after))
    return CodeDifference(
        tuple(sorted(new.keys() - old.keys())),
        tuple(sorted(old.keys() - new.keys())),
        tuple(sorted(path for path in new.keys() & old.keys() if new[path] != old[path])),
    )


def read_editable_text(path: str, content: bytes) -> str:
    """The text of a file as a form shows it, with plain line ends.

    Raises Refused on `text` for what a form would change without being asked: no UTF-8, control characters, or line
    ends of several kinds.
    """
    if len(content) > LARGEST_EDITED_BYTES:
        raise Refused("text", "code.too_large_to_edit", limit=LARGEST_EDITED_BYTES)
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise Refused("text", "code.not_editable", file=path) from None
    plain = text.replace("\r\n", "\n")
    is_mixed = plain != text and plain.count("\n") != text.count("\r\n")
    if is_mixed or has_control_character(plain):
        raise Refused("text", "code.not_editable", file=path)
    return plain


def write_edited_text(text: str, before: bytes) -> bytes:
    """The content of a file after an edit. Forms send CR LF; the file keeps the line ends that it had.

    Raises Refused on `text`.
    """
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    if has_control_character(plain):
        raise Refused("text", "value.control_character")
    try:
        content = (plain.replace("\n", "\r\n") if b"\r\n" in before else plain).encode()
    except UnicodeEncodeError:
        raise Refused("text", "code.not_utf8") from None
    if len(content) > LARGEST_EDITED_BYTES:
        raise Refused("text", "code.too_large_to_edit", limit=LARGEST_EDITED_BYTES)
    return content


def has_control_character(text: str) -> bool:
    return any(sign < " " and sign not in "\n\t\f" for sign in text)
