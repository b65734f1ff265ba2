"""The tab of a job that shows what its program wrote: one folder as a list, or the beginning of one file."""

from dataclasses import dataclass

from cluster.domain.errors import NotFound
from cluster.files.safe_read import FileMissing, FileNotPlain, open_file_beneath, open_file_size
from portal.job_files.written_files import FolderListing, list_folder, split_path
from portal.presenters.jobs.job_page import JobView

PREVIEWED_BYTES = 64 * 1024


@dataclass(frozen=True)
class FilePreview:
    """The beginning of one file. `text` is None for a file that is no text; `size` is bytes of the whole file."""

    size: int
    text: str | None
    is_whole: bool


@dataclass(frozen=True)
class FilesTab:
    """The shown folder (`listing`) or file (`preview`) at `path` below `out`; neither before any file exists."""

    path: tuple[str, ...]
    listing: FolderListing | None = None
    preview: FilePreview | None = None

    @property
    def parents(self) -> list[tuple[str, str]]:
        """Name and path of each folder above the shown one."""
        return [(name, "/".join(self.path[: number + 1])) for number, name in enumerate(self.path[:-1])]

    def below(self, name: str) -> str:
        return "/".join((*self.path, name))


def read_files_tab(view: JobView, path: str) -> FilesTab:
    """Raises NotFound for a path where nothing was written."""
    names = split_path(path)
    if view.files_deletion:
        return FilesTab(())
    place = (*view.files.out, *names)
    try:
        return FilesTab(names, listing=list_folder(view.files.root, *place))
    except FileMissing as error:
        if not names:
            return FilesTab(())
        raise NotFound("file", path[:200]) from error
    except FileNotPlain as error:
        if not names:
            raise NotFound("file", path[:200]) from error
    try:
        return FilesTab(names, preview=read_preview(view, place))
    except (FileMissing, FileNotPlain) as error:
        raise NotFound("file", path[:200]) from error


def read_preview(view: JobView, place: tuple[str, ...]) -> FilePreview:
    with open_file_beneath(view.files.root, *place) as file:
        size, beginning = open_file_size(file), file.read(PREVIEWED_BYTES)
    is_text = b"\0" not in beginning
    return FilePreview(
        size, beginning.decode("utf-8", "replace") if is_text else None, size <= PREVIEWED_BYTES
    )
