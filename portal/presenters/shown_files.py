"""The files of one folder as a list, or the beginning of one file: what a job wrote, or what a dataset has."""

import csv
from dataclasses import dataclass
from pathlib import Path

from cluster.domain.errors import NotFound
from cluster.files.safe_read import (
    FileMissing,
    FileNotPlain,
    FileReader,
    open_file_beneath,
    open_file_size,
)
from portal.job_files.written_files import FolderListing, list_folder, split_path

PREVIEWED_BYTES = 64 * 1024
TABLE_SEPARATORS = {".csv": ",", ".tsv": "\t"}
IMAGE_SIGNATURES = {
    ".png": b"\x89PNG\r\n\x1a\n",
    ".jpg": b"\xff\xd8\xff",
    ".jpeg": b"\xff\xd8\xff",
    ".gif": b"GIF8",
    ".webp": b"RIFF",
}
LARGEST_IMAGE_BYTES = 8 * 1024 * 1024
SHOWN_PICTURES, LARGEST_PICTURE_BYTES = 12, 1024 * 1024
"""The images of a folder that are shown above its list. A page may ask for 32 things at once."""
MOST_ROWS, MOST_COLUMNS = 200, 40
MOST_CELL_CHARACTERS = 200


@dataclass(frozen=True)
class TablePreview:
    """The rows of a CSV or TSV file under its first line; all of them have the same number of cells."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    is_whole: bool

    @property
    def has_numbers(self) -> tuple[bool, ...]:
        """Whether each column has numbers alone."""
        return tuple(all(map(is_number, column)) for column in zip(*self.rows, strict=True))


@dataclass(frozen=True)
class FilePreview:
    """The beginning of one file. `text` is None for a file that is no text; `size` is bytes of the whole file."""

    size: int
    text: str | None
    is_whole: bool
    table: TablePreview | None = None
    is_image: bool = False
    """Whether browsers draw it: the reader's browser decodes the file, this process never does."""


@dataclass(frozen=True)
class ShownFiles:
    """The shown folder (`listing`) or file (`preview`) at `path` below a top folder; neither before any file exists."""

    path: tuple[str, ...]
    listing: FolderListing | None = None
    preview: FilePreview | None = None

    @property
    def parents(self) -> list[tuple[str, str]]:
        """Name and path of each folder above the shown one."""
        return [(name, "/".join(self.path[: number + 1])) for number, name in enumerate(self.path[:-1])]

    @property
    def pictures(self) -> list[str]:
        """The names of the folder's first images that are small enough to be shown together."""
        entries = self.listing.entries if self.listing else ()
        names = [
            one.name for one in entries if one.is_reachable and 0 < (one.size or 0) <= LARGEST_PICTURE_BYTES
        ]
        return [name for name in names if image_signature(name)][:SHOWN_PICTURES]

    def below(self, name: str) -> str:
        return "/".join((*self.path, name))


def read_shown_files(
    root: Path, top: tuple[str, ...], path: str, reader: FileReader | None = None
) -> ShownFiles:
    """`path` leads from the folder `top` below `root` to what is shown. Raises NotFound; a top folder that does not
    exist yet is shown empty.
    """
    names = split_path(path)
    place = (*top, *names)
    try:
        return ShownFiles(names, listing=list_folder(root, *place, reader=reader))
    except FileMissing as error:
        if not names:
            return ShownFiles(())
        raise NotFound("file", path[:200]) from error
    except FileNotPlain as error:
        if not names:
            raise NotFound("file", path[:200]) from error
    try:
        return ShownFiles(names, preview=read_preview(root, place, reader))
    except (FileMissing, FileNotPlain) as error:
        raise NotFound("file", path[:200]) from error


def read_preview(root: Path, place: tuple[str, ...], reader: FileReader | None) -> FilePreview:
    with open_file_beneath(root, *place, reader=reader) as file:
        size, beginning = open_file_size(file), file.read(PREVIEWED_BYTES)
    is_whole = size <= PREVIEWED_BYTES
    if b"\0" in beginning:
        return FilePreview(size, None, is_whole, is_image=is_image(place[-1], beginning, size))
    text = beginning.decode("utf-8", "replace")
    return FilePreview(size, text, is_whole, parse_table(place[-1], text, is_whole))


def is_image(name: str, beginning: bytes, size: int) -> bool:
    """Whether name and first bytes agree that it is an image. SVG does not count as one, because it is a document that
    can contain scripts.
    """
    signature = image_signature(name)
    return signature is not None and beginning.startswith(signature) and size <= LARGEST_IMAGE_BYTES


def image_signature(name: str) -> bytes | None:
    """The first bytes of an image with this ending; None if it is the ending of no image."""
    return next((IMAGE_SIGNATURES[end] for end in IMAGE_SIGNATURES if name.lower().endswith(end)), None)


def parse_table(name: str, text: str, is_whole: bool) -> TablePreview | None:
    """The table of a CSV or TSV file; None for other files and for text that is no table. A line that was cut is left
    out.
    """
    separator = next((TABLE_SEPARATORS[end] for end in TABLE_SEPARATORS if name.lower().endswith(end)), None)
    if separator is None:
        return None
    lines = text.removeprefix("\ufeff").splitlines()
    try:
        rows = [row for row in csv.reader(lines if is_whole else lines[:-1], delimiter=separator) if row]
    except csv.Error:
        return None
    width = max(map(len, rows), default=0)
    if len(rows) < 2 or not 2 <= width <= MOST_COLUMNS:
        return None
    head, *cells = [table_row(row, width) for row in rows[: MOST_ROWS + 1]]
    return TablePreview(head, tuple(cells), is_whole and len(rows) <= MOST_ROWS + 1)


def is_number(cell: str) -> bool:
    """Whether the cell is a number. An empty cell counts as a value that was not measured."""
    try:
        float(cell or 0)
    except ValueError:
        return False
    return True


def table_row(row: list[str], width: int) -> tuple[str, ...]:
    filled = (*row, *[""] * (width - len(row)))
    return tuple(
        f"{cell[:MOST_CELL_CHARACTERS]}…" if len(cell) > MOST_CELL_CHARACTERS else cell for cell in filled
    )
